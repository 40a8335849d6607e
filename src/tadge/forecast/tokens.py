"""The latest events of both ends of a pair as tokens: who acted, was it the partner, how long ago."""

from __future__ import annotations

import numba
import numpy as np

from tadge.forecast.memory import NEVER, Columns, Memory, log_time
from tadge.history import end_of
from tadge.kernels import Days, Ints

LATEST = 8  # events of each end
WIDTH = 7  # numbers of a token: there, acted, with the partner, since, gap to the next later, ToE, without ToE
NUM_TOKENS = 2 * LATEST  # those of dst first


def pair_tokens(memory: Memory, src: Ints, dst: Ints, at: Days) -> Columns:
    """Give the latest events of dst, then of src, as of moments: (n, 2 * LATEST, WIDTH), latest first, 0 at the end."""
    found = np.zeros((src.size, NUM_TOKENS, WIDTH), np.float32)
    fill_tokens(memory, src, dst, at, found)
    return found


@numba.njit(cache=True, nogil=True)
def fill_tokens(memory: Memory, src: Ints, dst: Ints, at: Days, found: Columns) -> None:
    """Write tokens; events of one instant: acts count as the later ones."""
    acts, links = memory.acts, memory.links
    for q in range(src.size):
        for side in range(2):
            node, partner = (dst[q], src[q]) if side == 0 else (src[q], dst[q])
            act = end_of(acts.time, acts.start[node], acts.start[node + 1], at[q])
            link = end_of(links.time, links.start[node], links.start[node + 1], at[q])
            later = at[q]
            for k in range(LATEST):
                has_act, has_link = act > acts.start[node], link > links.start[node]
                if not has_act and not has_link:
                    break
                acted = has_act and (not has_link or acts.time[act - 1] >= links.time[link - 1])
                if acted:
                    act -= 1
                    time, other, toe = acts.time[act], acts.other[act], acts.toe[act]
                else:
                    link -= 1
                    time, other, toe = links.time[link], links.other[link], links.toe[link]
                token = found[q, side * LATEST + k]
                token[0], token[1], token[2] = 1.0, acted, other == partner
                token[3] = log_time(memory, at[q] - time) / NEVER * 2.0
                token[4] = log_time(memory, later - time) / NEVER * 2.0
                token[5] = 0.0 if np.isnan(toe) else toe
                token[6] = np.isnan(toe)
                later = time
