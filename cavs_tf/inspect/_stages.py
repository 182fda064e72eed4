"""The stages in which operators run, in order, with their meaning and their colours."""

STAGES = {
    "prologue": "once, before the first task: no vertex is involved",
    "eager": "over all vertices before the first task: depends on no gathered state",
    "critical": "task by task: on a path from gather to scatter",
    "lazy": "over all vertices after the last task: no scattered state depends on it",
    "epilogue": "once, after the last task: needs finished sums over vertices",
}

COLOURS = {
    "prologue": "#9aa0a6",
    "eager": "#4c9f70",
    "critical": "#d9822b",
    "lazy": "#2f6db3",
    "epilogue": "#9aa0a6",
}
