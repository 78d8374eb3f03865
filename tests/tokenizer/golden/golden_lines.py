"""Lines of text for the golden files: what the scripts beside this one give to the programs that we compare with."""
import pathlib
import random

HERE = pathlib.Path(__file__).parent
CORPUS = (HERE / "corpus.txt").read_text(encoding="utf-8").splitlines()
NASTY = [
    "", " ", "  ", "     ", " a", "a ", "  a  b   c    ", "a\tb", "\t", "\t\t a", "a\u0000b", "\u2581", "a\u2581b", " \u2581 ", "\u2581\u2581", "a \u2581b",
    "<s>", "</s> and <unk>", "a<s>b", "<0x41>", "<0x0A><0xFF>", "<|endoftext|>", "</w>", "a</w>", "the</w> river</w>", "</w", "@@", "the@@ river", "a@@b", "@@ @@",
    "don't we'll I'm they've you're he'd it's DON'T WE'LL 'S'T 's", "'\u017f '\u017fa", "1 12 123 1234 12345 1,234.56", "x1y22z333", "\u00b2\u00bd\u2167 \u0663\u0664",
    "a\u00a0b", "\u00a0nbsp\u00a0", "\u3000wide\u3000", "a\u2028b", "a\u0085b", "\u200b\u200b", "\ufeffbom", "e\u0301tait \u00e9tait", "\u0301 \u0301a",
    "\U0001F600 \U0001F468\u200d\U0001F469\u200d\U0001F467", "\u901a\u8a33\u306f\u7686\u306b\u805e\u3053\u3048\u3001", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\uc548\ub155\ud558\uc138\uc694", "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439\u0442\u0435", "\u0393\u03b5\u03b9\u03ac", "\u05e9\u05dc\u05d5\u05dd",
    "interpreterinterpreterinterpreter", "a" * 61, "a" * 100, "the" * 60, "ab" * 80, "!!!???...", "...the", "(the)", "http://a.b/c?d=e&f", "\ufffd", "\U0010ffff",
    "a  ", "a   b", " the  river ", "the  river", "x \t y", "\t \t", " \u3000 a", "a \u00a0",
]
ALPHABETS = ["abcdehilnorstuv", "theriv ", "ABCabc123", " \t.,!?'-", "\u00e4\u00f6\u00fc\u00df\u00e9\u00e8", "\u0430\u0431\u0432\u0433\u0434", "\u4e00\u4e8c\u4e09\u4eba", "\U0001F600\U0001F601", "aaab", "  \u2581a"]


def random_word(rng: random.Random) -> str:
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9)))


def random_line(rng: random.Random) -> str:
    known = " ".join(CORPUS).split()
    words = [rng.choice(known) if rng.random() < 0.6 else random_word(rng) for _ in range(rng.randint(1, 9))]
    return "".join(word + rng.choice([" ", " ", " ", "", "  ", "   "]) for word in words)


def golden_lines(count: int = 300) -> list[str]:
    """Without line ends, and always the same."""
    rng = random.Random(7)
    lines = NASTY + CORPUS
    return lines + [random_line(rng) for _ in range(count - len(lines))]
