#compdef pyreel
# Zsh completion of pyreel, made by completions/make.py.

local state line
local -a verbs names topics others
verbs=(
    @VERBS@
)
topics=(
    @TOPICS@
)

_arguments -C \
    @OPTIONS@ \
    '1:VERB:->verb' \
    '*::ARG:->arguments' && return

if [[ $state == verb ]]; then
    others=(${${(k)commands[(I)pyreel-*]}#pyreel-})
    names=(${verbs%%:*})
    others=(${others:|names})
    _describe -t verbs 'verb' verbs -- others
elif [[ $words[1] == help ]]; then
    ((CURRENT == 2)) && _describe -t topics 'verb or topic' verbs -- topics
else
    words[1]=pyreel-$words[1]
    _normal
fi
