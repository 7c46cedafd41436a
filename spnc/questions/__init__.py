"""The language of questions: text to syntax, syntax to bound questions, questions to answers.

    splitting, parser, syntax_errors    text to `syntax`; every syntax error is reported
    binder, event_binder, values        names and labels to `question`; every mistake is reported
    answering, row_answers              a question to an `Answer` (`answers`), for each row a number
    completion                          what may come next, for a prompt

`grammars/questions.lark` says which texts are well formed.
"""
