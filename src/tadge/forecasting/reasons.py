"""What is known of a pair as of a moment, in plain words: one sentence for each group of columns."""

from __future__ import annotations

import numpy as np

from tadge.arrays import Ints, Vectors
from tadge.features.columns import PAIR
from tadge.features.link_columns import LATEST_EVENTS, NODE_WIDTH
from tadge.forecasting.ask_curves import UNKNOWN
from tadge.graph.event_types import NO_TYPE
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, end_of, pair_end, past_of
from tadge.units import date_text, span_text

TYPES_OF_EVENTS = "types of events"  # the group of columns of types, which stand behind LINK_COLUMNS
HOURS_OF_WEEK = "hours of the week"  # the group of columns of a season, which stand behind all others
LATEST_LINKS = 10  # of a source that are counted
NAMED = 3  # of those in common
VERBS = {"acts of": "{}linked to others", "links to": "was {}linked to", "links of": "{}had links"}
PATHS, TOGETHER = (
    2 * NODE_WIDTH + place for place in (PAIR.others_in_common_with_the_acts_of_src, PAIR.chosen_together)
)


class PairFacts:
    """Say what is known of a pair as of a moment.

    Args:
        graph: what happened.
        src: node number; -1 where it was never seen.
        dst: node number, alike.
        at: days: nothing later is looked at.
        names: what both are called.
        window: days that count as lately.
    """

    def __init__(
        self, graph: TemporalGraph, src: int, dst: int, at: float, names: tuple[str, str], window: float
    ) -> None:
        self.graph, self.past, self.at, self.window = graph, past_of(graph), at, window
        self.src, self.dst = src, dst
        self.src_name, self.dst_name = names

    def sentence(self, group: str, row: Vectors, hour: float = 1.0) -> str:
        """Give the sentence of a group of columns; `row` are those of the pair, (F,), `hour` the rate of this one."""
        if group in ("links of src to dst", "links of src and dst"):
            return self._forth()
        if group == "links of dst to src":
            return self._back()
        if group == "others in common":
            return self._in_common(row)
        if group == HOURS_OF_WEEK:
            return self._hour(hour)
        if group == TYPES_OF_EVENTS:
            return self._types()
        role, _, end = group.rpartition(" ")
        node, name = (self.src, self.src_name) if end == "src" else (self.dst, self.dst_name)
        return self._activity(self.past.incoming if role == "links to" else self.past.outgoing, node, name, VERBS[role])

    def _hour(self, rate: float) -> str:
        now = date_text(self.at, self.graph.clock)
        return f"asked as of {now} UTC: at that hour and weekday {rate:.2g} times as much happens as in the mean"

    def _types(self) -> str:
        """Name the types of the last link between the two, and of the last acts of both."""
        src, dst = self.src_name, self.dst_name
        pair = max(self._last_of_pair(self.src, self.dst), self._last_of_pair(self.dst, self.src))
        acts = (self._last_act(node) for node in (self.src, self.dst))
        lasts = zip((pair, *acts), (f"link between {src} and {dst}", f"link of {src}", f"link of {dst}"), strict=True)
        words = [f"the last {what}: {self._type_of(event)}" for event, what in lasts if event >= 0]
        return "; ".join(words) or f"neither {src} nor {dst} has linked to anyone"

    def _type_of(self, event: int) -> str:
        codes, names = self.graph.types
        return "no type" if codes is None or codes[event] == NO_TYPE else names[codes[event]]

    def _last_of_pair(self, src: int, dst: int) -> int:
        """Find the last event of a pair by then; -1 where there was none."""
        if UNKNOWN in (src, dst):
            return -1
        pairs = self.past.pairs
        end, count = pair_end(pairs.first, pairs.target, pairs.start, pairs.time, src, dst, self.at)
        return int(pairs.reading[end - 1]) // self.past.directions if count else -1

    def _last_act(self, node: int) -> int:
        """Find the last event by which a node acted by then; -1 where there was none."""
        acts, end = self.past.outgoing, self._end(self.past.outgoing, node)
        known = node != UNKNOWN and end > int(acts.start[node])
        return int(acts.reading[end - 1]) // self.past.directions if known else -1

    # -- the pair -----------------------------------------------------------------------------------------------------

    def _times(self, src: int, dst: int) -> tuple[int, float]:
        """Count the links of a pair by then, and find the last."""
        if UNKNOWN in (src, dst):
            return 0, -np.inf
        return int(self.past.count_links(src, dst, self.at)[0]), float(self.past.last_link(src, dst, self.at)[0])

    def _forth(self) -> str:
        count, last = self._times(self.src, self.dst)
        verb = "linked to" if self.graph.directed else "met"
        if not count:
            return f"{self.src_name} has never {verb} {self.dst_name}"
        latest = self._latest(self.past.outgoing, self.src, LATEST_LINKS)
        there = int(np.count_nonzero(latest == self.dst))
        if not there:
            return f"{self.src_name} {verb} {self.dst_name} {_times_text(count)}, {self._last(count, last)}"
        of = (
            f"{there} of {self.src_name}'s last {latest.size} links"
            if latest.size > 1
            else f"{self.src_name}'s only link"
        )
        return f"{of} went to {self.dst_name}, {self._last(there, last)}"

    def _back(self) -> str:
        count, back = self._times(self.dst, self.src)
        if not count:
            return f"{self.dst_name} has never linked to {self.src_name}"
        forth = self._times(self.src, self.dst)[1]
        if back > forth:
            return f"{self.dst_name} linked to {self.src_name} {self._ago(back)} and has not been answered"
        words = f"{self.dst_name} linked to {self.src_name} {_times_text(count)}, {self._last(count, back)}"
        return f"{words}, and {self.src_name} has linked back since"

    def _in_common(self, row: Vectors) -> str:
        together = row[TOGETHER] > 0 and not self._times(self.src, self.dst)[0]  # else src may be the one who chose
        if self.graph.bipartite:
            whose = f"others who chose what {self.src_name} lately chose"
            chosen = row[PATHS] > 0 or together
            return f"{whose} also chose {self.dst_name}" if chosen else f"no {whose} chose {self.dst_name}"
        both = [set(self._others(node).tolist()) - {self.src, self.dst} for node in (self.src, self.dst)]
        shared = sorted(both[0] & both[1], key=lambda node: -float(self.past.last_seen(node, self.at)[0]))
        pair = f"{self.src_name} and {self.dst_name}"
        if not shared and together:
            verb = "linked to" if self.graph.directed else "met"
            return f"others {verb} {self.dst_name} and those whom {self.src_name} lately {verb}"
        if not shared:
            return f"{pair} have lately had no links with the same others"
        names = [str(self.graph.ids[node]) for node in shared[:NAMED]]
        if len(shared) > NAMED:
            names.append(f"{len(shared) - NAMED} more")
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{pair} have both lately had links with {listed}"

    # -- one node -----------------------------------------------------------------------------------------------------

    def _activity(self, lists: EventLists, node: int, name: str, verb: str) -> str:
        end = self._end(lists, node)
        first = int(lists.start[node]) if node != UNKNOWN else 0
        if node == UNKNOWN:
            return f"{name} was never seen"
        if end == first:
            return f"{name} {verb.format('never ')}"
        lately = end - end_of(lists.time, first, end, self.at - self.window)
        last = float(lists.time[end - 1])
        if not lately:
            return f"{name} {verb.format('last ')} {self._ago(last)}"
        often = f"{_times_text(lately)} in the last {span_text(self.window)}"
        return f"{name} {verb.format('')} {often}, {self._last(lately, last)}"

    def _others(self, node: int) -> Ints:
        lists = self.past.outgoing, self.past.incoming
        return np.concatenate([self._latest(each, node, LATEST_EVENTS) for each in lists])

    def _latest(self, lists: EventLists, node: int, count: int) -> Ints:
        """Give the other ends of a node's latest links by then."""
        end = self._end(lists, node)
        first = max(int(lists.start[node]), end - count) if node != UNKNOWN else end
        return lists.other[first:end].astype(np.int64)

    def _end(self, lists: EventLists, node: int) -> int:
        if node == UNKNOWN:
            return 0
        return int(end_of(lists.time, int(lists.start[node]), int(lists.start[node + 1]), self.at))

    # -- words --------------------------------------------------------------------------------------------------------

    def _ago(self, time: float) -> str:
        return f"{span_text(max(self.at - time, 0.0))} ago"

    def _last(self, count: int, time: float) -> str:
        return f"the last {self._ago(time)}" if count > 1 else self._ago(time)


def _times_text(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
