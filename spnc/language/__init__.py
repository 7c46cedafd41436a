"""The small language: one grammar for recipes and circuits, its parser and its syntax errors.

`grammars/spnc.lark` says which texts are well formed. The meaning of the parse trees is given in
`spnc.spec.dsl` (recipes) and `spnc.graph.text` (circuits).
"""
