# Fish completion of @PROGRAM@, made by completions/make.py.

# The processes that run Python, with their commands: their programs or libraries are mapped. The kernel shows the mappings
# of those that may be recorded.
function __fish_pyreel_pids
    for file in (command grep -lEs '/(lib)?python[^/]*$' (string match -r '^/proc/[0-9]+/maps$' /proc/*/maps))
        set -l folder (string replace /maps '' $file)
        set -l command (cat $folder/cmdline 2>/dev/null | string split0 | string replace -ra '[[:cntrl:]]' ' ' | string join ' ')
        printf '%s\t%s\n' (string replace /proc/ '' $folder) (string sub -l 100 -- "$command")
    end
end

@OPTIONS@
@OPERANDS@
