"""Whether two programs that have one model find the same: scores of given texts, translations, BLEU. What they must find is said in
translation.py."""
import json
import shutil

from rivals.ctranslate2_rival import FIRST_BATCH, LIBRARIES, Setting
from rivals.models import output_of, read_lines, write_lines
from rivals.process import DRAGOMAN, fail


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-30)


def scores_of_ours(model, target):
    path, _ = output_of([DRAGOMAN, "score", "--quiet", "--model", model.folder, "--compute", "fp32", model.source, target])
    return [float(line) for line in read_lines(path)]


def check_scores(rival, model, threads):
    """The same model: no search, no choice."""
    theirs = rival.score(model, model.work / "reference.ids", threads)
    worst = max(map(relative, scores_of_ours(model, model.reference), theirs))
    print(f"{model.name}: log probabilities of {len(theirs)} references differ by at most {worst:.1e} of their size", flush=True)
    if worst > 1e-4:
        fail("the converted model is not the same model")


def our_translations(model, search, compute, threads, environment=None, folder=None):
    """Writes them as text; returns objects with text, score and number of tokens."""
    path, _ = output_of(model.command(search, compute, threads, "jsonl", folder), environment)
    shutil.move(path, model.work / "ours.jsonl")
    kept = []
    with open(model.work / "ours.jsonl", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if "error" in record:
                fail(f"line {record['line']}: {record['error']}")
            kept.append({"text": record["text"], "score": record["score"], "tokens": len(record["tokens"])})
    write_lines(model.work / "ours", (record["text"] for record in kept))
    return kept


def theirs_by_dragoman(model, lines):
    """What Dragoman finds of their translations of some lines, with the penalty of the search; of those lines only whose text is cut
    again into the tokens of which it was made."""
    model.encode("target", model.work / "theirs", model.work / "theirs.again")
    found, again = read_lines(model.work / "theirs.ids"), read_lines(model.work / "theirs.again")
    lines = [i for i in lines if found[i] == again[i]]
    if not lines:
        return {}
    texts, sources = read_lines(model.work / "theirs"), read_lines(model.source)
    write_lines(model.work / "tied.source", (sources[i] for i in lines))
    write_lines(model.work / "tied.theirs", (texts[i] for i in lines))
    path, _ = output_of([DRAGOMAN, "score", "--quiet", "--model", model.folder, "--compute", "fp32", "--length-penalty", "ct2", "--format",
                         "jsonl", model.work / "tied.source", model.work / "tied.theirs"])
    return dict(zip(lines, map(json.loads, read_lines(path))))


def greedy_tie(ours, theirs):
    """Where they part both next tokens (or the end, which has the last probability) are as probable; what follows is another matter."""
    parts = [record["tokens"] + [None] for record in (ours, theirs)]
    where = next(i for i, (our, their) in enumerate(zip(*parts)) if our != their)
    return abs(ours["token_log_probabilities"][where] - theirs["token_log_probabilities"][where]) < 1e-3


def unlike_in_greedy(model, differ, scored):
    with open(model.work / "ours.jsonl", encoding="utf-8") as file:
        ours = {i: json.loads(line) for i, line in enumerate(file) if i in scored}
    return {i for i in differ if i not in scored or not greedy_tie(ours[i], scored[i])}


def unlike_in_beams(ours, their_scores, differ, scored):
    return {i for i in differ if relative(ours[i]["score"], their_scores[i]) > 1e-3 or
            (i in scored and relative(ours[i]["score"], scored[i]["score"]) > 1e-3)}


def check_translations(rival, model, search, threads):
    """The same search: what differs are ties. In a beam, by the score of each search and, where the text can be scored, by Dragoman's of
    both translations; in a greedy search, by the tokens where they part."""
    ours = our_translations(model, search, "fp32", threads)
    setting = Setting((threads, 1), next(iter(LIBRARIES)), [FIRST_BATCH])
    rival.translate(model, search, "fp32", setting, {}, output=model.work / "theirs.ids", scores=model.work / "theirs.scores")
    model.decode(model.work / "theirs.ids", model.work / "theirs")
    texts, scores = read_lines(model.work / "theirs"), [float(line) for line in read_lines(model.work / "theirs.scores")]
    differ = [i for i, record in enumerate(ours) if record["text"] != texts[i]]
    scored = theirs_by_dragoman(model, differ) if not model.length else {}
    unlike = unlike_in_greedy(model, differ, scored) if search.beam_size == 1 else unlike_in_beams(ours, scores, differ, scored)
    print(f"{model.name}, {search.name}: {len(differ)} of {len(ours)} translations differ in fp32, "
          f"{len(differ) - len(unlike)} of them ties ({len(scored)} also by `dragoman score`)", flush=True)
    # A tie in the middle of a search may lead to ends that are none, so a few may remain.
    if len(unlike) > 0.005 * len(ours):
        fail(f"the searches differ: lines {', '.join(str(i + 1) for i in sorted(unlike)[:10])}")
    bleu = model.bleu(model.work / "ours"), model.bleu(model.work / "theirs")
    if bleu[0] is not None:
        print(f"{model.name}, {search.name}: BLEU {bleu[0]:.2f}, {rival.name} {bleu[1]:.2f}", flush=True)
        if abs(bleu[0] - bleu[1]) > 0.1:
            fail("BLEU differs by more than 0.1")
