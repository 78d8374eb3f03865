// How pieces of a model belong to the words of a text.

// Returns the text of a piece without the marks of its tokenizer: SentencePiece, byte-level, subword-nmt.
function bare(piece) {
  return piece.replace(/^[▁Ġ\s]+/, "").replace(/(@@|￭|<\/w>)$/, "").replace(/^￭/, "");
}

// Returns [begin, end] of each piece in the text; [place, place] for one that does not show, as bytes of a character.
export function placesOf(pieces, text) {
  let at = 0;
  return pieces.map((piece) => {
    while (at < text.length && /\s/.test(text[at])) ++at;
    const plain = bare(piece);
    if (plain && text.startsWith(plain, at)) {
      at += plain.length;
      return [at - plain.length, at];
    }
    const found = plain ? text.indexOf(plain, at) : -1;
    if (found >= 0 && found - at < 12) {
      at = found + plain.length;
      return [found, at];
    }
    return [at, at];
  });
}

// Returns the words of a text as [begin, end]: runs without white space; single characters of scripts that have none.
export function wordsOf(text) {
  const words = [];
  const pattern = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
  for (const match of text.matchAll(pattern)) words.push([match.index, match.index + match[0].length]);
  return words;
}

// Returns the numbers of the pieces that overlap a word.
export function piecesOf(word, places) {
  const numbers = [];
  places.forEach(([begin, end], i) => {
    if (begin < word[1] && end > word[0]) numbers.push(i);
    else if (begin === end && begin > word[0] && begin < word[1]) numbers.push(i);
  });
  return numbers;
}

// Returns the probability of a word: the product of its pieces'.
export function probabilityOf(numbers, logs) {
  if (!logs || numbers.length === 0) return null;
  return Math.exp(numbers.reduce((sum, i) => sum + (logs[i] ?? 0), 0));
}
