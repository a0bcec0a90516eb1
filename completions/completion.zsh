#compdef @PROGRAM@
# Zsh completion of @PROGRAM@, made by completions/make.py.

# The processes that run Python, with their commands: their programs or libraries are mapped. The kernel shows the mappings
# of those that may be recorded.
_pyreel_pids() {
    local file command
    local -a pids
    for file in ${(f)"$(command grep -lEs '/(lib)?python[^/]*$' /proc/<->/maps(N))"}; do
        { command=$(<${file:h}/cmdline) } 2>/dev/null || continue
        pids+=("${file:h:t}:${(V)${command//$'\0'/ }[1,100]}")
    done
    _describe -V 'process' pids
}

@COMMAND@
_arguments @FLAGS@ \
    @OPTIONS@ \
    @OPERANDS@
