"""Makes pairs of alignments in two directions, `forward` and `backward`. The golden file is what fast_align's atools (clab/fast_align, commit
cab1e9a) makes of them:

    for how in intersect union grow-diag grow-diag-final grow-diag-final-and; do atools -i forward -j backward -c $how > $how; done
    paste forward backward intersect union grow-diag grow-diag-final grow-diag-final-and > symmetrized.tsv

atools visits the union's links by source and target, the published pseudo-code the neighbours of links; where both orders lead to the same
links there is nothing to dispute, and the first 100 of those lines are kept.
"""
import random

draws = random.Random(11)


def line(links):
    return ' '.join('%d-%d' % link for link in sorted(links))


def noisy(ones, others):
    links = set()
    for one in range(ones):
        if draws.random() < .15:
            continue
        other = round(one * (others - 1) / max(1, ones - 1))
        if draws.random() > .6:
            other = min(others - 1, max(0, other + draws.randint(-2, 2)))
        links.add((one, other))
    return links


with open('forward', 'w') as forward, open('backward', 'w') as backward:
    for _ in range(200):
        sources, targets = draws.randint(1, 9), draws.randint(1, 9)
        print(line({(s, t) for t, s in noisy(targets, sources)}), file=forward)
        print(line(noisy(sources, targets)), file=backward)
