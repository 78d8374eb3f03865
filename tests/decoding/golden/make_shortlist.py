"""Writes a binary shortlist as marian-nmt/marian-dev's src/data/shortlist.cpp (commit 5b47297) lays it out: magic, checksum, firstNum, bestNum,
wordToOffsetSize, shortListsSize, offsets (64 bits), target ids (32 bits); the checksum is util::hashMem over the 64-bit words behind it.

    python3 make_shortlist.py shortlist.bin 3 100 '1,5' '' '2,7,8' '9'
"""
import struct
import sys

name, first, best = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lists = [[int(i) for i in text.split(',')] if text else [] for text in sys.argv[4:]]
offsets = [0]
for targets in lists:
    offsets.append(offsets[-1] + len(targets))
flat = [i for targets in lists for i in targets]
body = struct.pack('<4Q', first, best, len(offsets), len(flat))
body += struct.pack('<%dQ' % len(offsets), *offsets) + struct.pack('<%dI' % len(flat), *flat)
seed = 0
for (word,) in struct.iter_unpack('<Q', body[:len(body) // 8 * 8]):
    seed ^= (word + 0x9e3779b9 + (seed << 6) + (seed >> 2)) & (2**64 - 1)
with open(name, 'wb') as out:
    out.write(struct.pack('<2Q', 0xF11A48D5013417F5, seed) + body)
