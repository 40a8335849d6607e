"""The temporal graph: events, ids, joining times, and what had happened by a moment."""

from tadge.graph.graph import TemporalGraph as TemporalGraph
