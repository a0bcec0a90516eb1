/* SPDX-License-Identifier: MIT */
/* Topics of "pyreel help TOPIC": short texts about what no single program explains. The files topics/NAME.txt have the
 * texts. When pyreel is built, topics.py makes the table of them, and the man page pyreel(7). */
#ifndef PYREEL_PYREEL_TOPICS_H
#define PYREEL_PYREEL_TOPICS_H

struct topic {
    const char *name;
    const char *about; /* one line */
    const char *text;  /* lines of at most 79 columns */
};

/* Ends in a row of zeros. */
extern const struct topic topics[];

#endif
