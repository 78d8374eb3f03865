"""Small corpora in which everything happens that makes learners differ: runs, ties, strings that come about in several ways, odd white space."""
import random

ALPHABETS = ["a", "ab", "aab", "abc", "aabbc", "abcdef", "ab\u00a0", "aab\u00a0\u3000", "ab\t", "abc\u2028\x85", "ab\\.", "ab*[(", "\u00e4\u00f6a", "a\U0001F600\uff41", "ab\r", "a\u00a0", "ab_"]


def random_word(rng: random.Random, alphabet: str, longest: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest)))


def random_corpus(rng: random.Random) -> str:
    """Few words, some of them often: frequencies range over several orders, and many are equal."""
    alphabet = rng.choice(ALPHABETS)
    longest = rng.choice([4, 8, 12, 25, 50])
    text = ""
    for _ in range(rng.choice([3, 8, 20, 60])):
        times = rng.choice([1, 1, 1, 2, 2, 3, 7, 40])
        text += (random_word(rng, alphabet, longest) + rng.choice([" ", " ", " ", "\n", "  ", "\r\n"])) * times
    return text


def has_clear_limit(text: str, limit: int) -> bool:
    """Whether it is by their counts alone that `limit` characters are the most frequent ones."""
    counts: dict[str, int] = {}
    for character in text.replace("\r\n", "\n"):
        if character not in " \n":
            counts[character] = counts.get(character, 0) + 1
    ordered = sorted(counts.values(), reverse=True)
    return limit >= len(ordered) or ordered[limit - 1] > ordered[limit]
