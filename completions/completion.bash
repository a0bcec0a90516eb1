# Bash completion of @PROGRAM@, made by completions/make.py.

# The functions below put into COMPREPLY what may stand in the place of $word, each with $joined in front.

_pyreel_words() {
    mapfile -t COMPREPLY < <(compgen -W "$*" -P "$joined" -- "$word")
}

# Only the last word of a list is completed.
_pyreel_list() {
    compopt -o nospace
    if [[ $word == *,* ]]; then
        joined+=${word%,*},
        word=${word##*,}
    fi
    _pyreel_words "$@"
}

# The processes that run Python: their programs or libraries are mapped. The kernel shows the mappings of those that may be
# recorded.
_pyreel_pids() {
    local pids
    mapfile -t pids < <(grep -lEs '/(lib)?python[^/]*$' /proc/[0-9]*/maps)
    pids=("${pids[@]#/proc/}")
    _pyreel_words "${pids[@]%/maps}"
}

# Bash completes file names itself while COMPREPLY is empty.
_pyreel_files() {
    compopt -o default
}

# Recordings and folders; where no recording is, all files.
_pyreel_recordings() {
    local folders
    compopt -o default -o filenames
    mapfile -t COMPREPLY < <(compgen -f -X '!*.pyreel' -- "$word")
    mapfile -t folders < <(compgen -d -- "$word")
    ((${#COMPREPLY[@]} == 0)) || COMPREPLY+=("${folders[@]}")
}

# _pyreel_command OPTION...: the options are those that take a value. Fails when $word is still one of our own options,
# or its value; the first word that is none begins the command line of another program.
_pyreel_command() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            ((++i))
            break
        elif [[ " $* " == *" ${COMP_WORDS[i]} "* ]]; then
            [[ ${COMP_WORDS[i + 1]} != = ]] || ((++i))
            ((++i))
        elif [[ ${COMP_WORDS[i]} != -* ]]; then
            break
        fi
    done
    ((i < COMP_CWORD)) || [[ $i == "$COMP_CWORD" && ${COMP_WORDS[i]} != -* ]] || return
    _pyreel_other_program "$i"
}

# The command line of another program begins behind --. Fails when $word does not stand there.
_pyreel_command_behind() {
    local i=1
    while [[ ${COMP_WORDS[i]} != -- ]] && ((i < COMP_CWORD)); do
        ((++i))
    done
    ((i < COMP_CWORD)) && _pyreel_other_program "$((i + 1))"
}

# Completes the command line of another program, which begins at this word.
_pyreel_other_program() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif (($1 < COMP_CWORD)); then
        _pyreel_files
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -d -- "$word")
    fi
    return 0
}

@FUNCTION@() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} joined=''
    COMPREPLY=()
    # Bash takes --option=value for three words, or for one where COMP_WORDBREAKS lacks the sign.
    if [[ $word == --*=* ]]; then
        option=${word%%=*}=
        joined=$option
        word=${word#*=}
    elif [[ $word == = ]]; then
        option+="="
        word=''
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}=
    fi
    @COMMAND@
    case $option in
    @VALUES@
    *)
        if [[ $word == -* ]]; then
            joined=''
            _pyreel_words @OPTIONS@
        else
            @OPERAND@
        fi
        ;;
    esac
}

complete -F @FUNCTION@ @PROGRAM@
