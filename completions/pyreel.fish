# Fish completion of pyreel, made by completions/make.py.

# Whether the next word is the only one behind these.
function __fish_pyreel_behind
    set -l tokens (commandline -opc)
    test "$tokens[2..]" = "$argv"
end

# Prints what the program of the verb completes.
function __fish_pyreel_verb
    set -l tokens (commandline -opc)
    set -l program pyreel-$tokens[2]
    set -e tokens[1..2]
    complete -C (string join ' ' -- $program (string escape -- $tokens) (commandline -ct))
end

# Whether a verb stands in front, which is not help.
function __fish_pyreel_has_verb
    set -l tokens (commandline -opc)
    set -q tokens[2]; and not string match -qr '^-|^help$' -- $tokens[2]
end

# Prints the verbs of other programs that are found: those that are not among the arguments.
function __fish_pyreel_others
    for program in (complete -C pyreel- | string replace -rf '^pyreel-([^\t]+).*' '$1')
        contains -- $program $argv; or echo $program
    end
end

complete -c pyreel -f
@OPTIONS@
@VERBS@
complete -c pyreel -n __fish_pyreel_behind -a '(__fish_pyreel_others @NAMES@)'
@TOPICS@
complete -c pyreel -n __fish_pyreel_has_verb -a '(__fish_pyreel_verb)'
