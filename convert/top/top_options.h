/* SPDX-License-Identifier: MIT */
/* The command line of pyreel-top: its own options, and those of pyreel-record that it passes on. */
#ifndef PYREEL_CONVERT_TOP_TOP_OPTIONS_H
#define PYREEL_CONVERT_TOP_TOP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_options {
    char **inputs; /* the recording, or parts of it; owned array */
    size_t inputs_count, inputs_room;
    const char *input;  /* the first of them; "-": standard input; NULL: pyreel-record is started */
    const char *output; /* the file of pyreel-record; NULL: none is kept */
    unsigned window_s;
    bool ids;       /* each thread by itself */
    uint64_t batch; /* print so many tables as text; 0: the full screen */
    bool quiet;
    bool command;    /* a command is started */
    char **recorder; /* arguments for pyreel-record, from index 1 on, ending with NULL; owned, ... */
    size_t recorder_count, recorder_room;
    char **words; /* ... as are these texts, of options with values */
    size_t words_count, words_room;
};

/* Fills the options from the command line. False when the program must end at once with *exit_code: 0 after printing
 * the help or the version, 2 after reporting a wrong command line. */
bool top_options_read(struct top_options *options, int argc, char **argv, int *exit_code);

/* Frees what top_options_read() allocated, also after it returned false. */
void top_options_free(struct top_options *options);

#endif
