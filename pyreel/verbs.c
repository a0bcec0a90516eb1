/* SPDX-License-Identifier: MIT */
#include "pyreel/verbs.h"

#include <stdio.h>
#include <string.h>

const char *const verb_groups[VERB_GROUPS] = {
    [VERB_RECORDS] = "Record",   [VERB_LOOKS] = "Look",   [VERB_CONVERTS] = "Convert",
    [VERB_COMPARES] = "Compare", [VERB_CHECKS] = "Check",
};

const struct verb verbs[] = {
    { "record", "record where a Python program spends its time", VERB_RECORDS },
    { "dump", "print what each thread of a Python program does now", VERB_RECORDS },
    { "top", "show live where a Python program spends its time", VERB_LOOKS },
    { "report", "show where the time of a recording goes", VERB_LOOKS },
    { "flame", "convert a recording to a flame graph, one HTML file", VERB_LOOKS },
    { "gecko", "convert a recording for the Firefox Profiler", VERB_CONVERTS },
    { "pprof", "convert a recording to pprof", VERB_CONVERTS },
    { "otlp", "convert a recording to OpenTelemetry's profiles", VERB_CONVERTS },
    { "speedscope", "convert a recording for speedscope", VERB_CONVERTS },
    { "collapsed", "convert a recording to collapsed stacks", VERB_CONVERTS },
    { "tachyon", "convert a recording to the format of CPython's own profiler", VERB_CONVERTS },
    { "diff", "show which functions gained and lost between recordings", VERB_COMPARES },
    { "info", "show what a recording contains, and whether it is complete", VERB_CHECKS },
    { 0 },
};

bool verb_is_ours(const char *name)
{
    const struct verb *verb = verbs;
    while (verb->name && strcmp(verb->name, name) != 0)
        verb++;
    return verb->name;
}

bool verb_is_possible(const char *word)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const size_t size = strlen(word);
    return size > 0 && size < VERB_SIZE && word[0] != '-' && strspn(word, allowed) == size;
}

void verb_program(char *program, const char *verb)
{
    snprintf(program, VERB_SIZE + sizeof(VERB_PREFIX), "%s%s", VERB_PREFIX, verb);
}
