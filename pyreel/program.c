/* SPDX-License-Identifier: MIT */
#include "pyreel/program.h"

#include "formats/base/programs.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "pyreel/suggestion.h"
#include "pyreel/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int say_unknown(const char *word, const char *what)
{
    char meant[SUGGESTION_SIZE];
    fprintf(stderr, "pyreel: '%s' is %s", utf8_shown(word), what);
    if (suggestion_find(meant, word))
        fprintf(stderr, "; did you mean 'pyreel %s'?", meant);
    fprintf(stderr, "\nTry 'pyreel --help'.\n");
    return EXIT_MISUSE;
}

static int say_missing(const char *program)
{
    char *const own = programs_own_folder();
    fprintf(stderr, "pyreel: the program %s is missing: it is neither in %s nor in a folder of PATH\n", program,
            own ? utf8_shown(own) : "the folder of pyreel");
    free(own);
    return EXIT_PYREEL;
}

int program_become(const char *verb, char **arguments, const char *what)
{
    char program[VERB_SIZE + sizeof(VERB_PREFIX)];
    if (!verb_is_possible(verb))
        return say_unknown(verb, what);
    verb_program(program, verb);
    char *const path = programs_find(program);
    if (!path)
        return verb_is_ours(verb) ? say_missing(program) : say_unknown(verb, what);
    arguments[0] = program;
    execv(path, arguments);
    fprintf(stderr, "pyreel: cannot start %s: %s\n", utf8_shown(path), strerror(errno));
    free(path);
    return EXIT_PYREEL;
}
