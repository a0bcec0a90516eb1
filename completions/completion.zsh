#compdef @PROGRAM@
# Zsh completion of @PROGRAM@, made by completions/make.py.

_arguments @FLAGS@ \
    @OPTIONS@ \
    @OPERANDS@
