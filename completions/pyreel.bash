# Bash completion of pyreel, made by completions/make.py.

_pyreel_load() {
    local file=${BASH_SOURCE[0]%/*}/$1
    if declare -F _comp_load >/dev/null; then
        _comp_load -- "$1"
    elif declare -F __load_completion >/dev/null; then
        __load_completion "$1"
    elif [[ -e $file ]]; then
        # shellcheck source=/dev/null
        source "$file"
    fi
}

# Lets the program of a verb complete the command line, which is then its own.
_pyreel_verb() {
    local program=pyreel-$1 rest=${COMP_LINE#*"${COMP_WORDS[0]}"}
    rest=${rest#*"$1"}
    ((COMP_POINT += ${#program} + ${#rest} - ${#COMP_LINE}, COMP_CWORD--))
    COMP_LINE=$program$rest
    COMP_WORDS=("$program" "${COMP_WORDS[@]:2}")
    complete -p "$program" &>/dev/null || _pyreel_load "$program"
    if [[ $(complete -p "$program" 2>/dev/null) =~ ' -F '([^ ]+) ]]; then
        "${BASH_REMATCH[1]}" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    else
        compopt -o default
    fi
}

_pyreel() {
    local words='' word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        [[ $word == -* ]] && words='@OPTIONS@' || words="@VERBS@ $(compgen -c pyreel- | sed -n 's/^pyreel-\([A-Za-z0-9_-]*\)$/\1/p')"
    elif [[ ${COMP_WORDS[1]} != help ]]; then
        _pyreel_verb "${COMP_WORDS[1]}"
        return
    elif ((COMP_CWORD == 2)); then
        words='@VERBS@ @TOPICS@'
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word" | sort -u)
}

complete -F _pyreel pyreel
