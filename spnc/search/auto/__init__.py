"""Choosing a recipe for a table within a time budget: `spnc train --auto`. See docs/auto.md.

A *family* (one file in `families/`) looks at the board, which has the facts about the table and
every try so far, and proposes recipes. The loop takes the proposal that promises most per second,
trains it until it yields less than the next one would, and puts the outcome on the board.

In the order in which a run uses them: `start` (what a person has given), `budget` (how long it may
take), `loop`, `board` and `families/` (what to try next), `costs` (how long that will take),
`proposal` (one thing to try, and what came of it), `stage_clock` and `leaving` (when to stop it).
"""
