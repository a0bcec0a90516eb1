# Fish completion of @PROGRAM@, made by completions/make.py.

@OPTIONS@
@OPERANDS@
