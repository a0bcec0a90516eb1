/* SPDX-License-Identifier: MIT */
/* Sentences and numbers that text and Markdown have in common. Names in them are printable (terminal/printable.h). */
#ifndef PYREEL_CONVERT_DIFF_DIFF_WORDS_H
#define PYREEL_CONVERT_DIFF_DIFF_WORDS_H

#include "convert/diff/difference.h"
#include "formats/base/bytes.h"

#define DIFF_NUMBER 32 /* room for the text of a number */

/* "grew", "shrank", and "~" for what is not distinguishable. */
const char *diff_verdict_text(enum verdict verdict);

/* Writes a growth as "+20.3%"; "new" for something that was not there before, "gone" for -1. Returns `room`. */
const char *diff_growth_text(char room[DIFF_NUMBER], const struct judged *judged);

/* Writes the interval of a growth as "+9..+33%", with the side that is open as "..". Returns `room`. */
const char *diff_interval_text(char room[DIFF_NUMBER], const struct judged *judged);

/* Writes an amount without its unit: seconds of a run, or milliseconds (or samples) of a second of the wall clock.
 * Returns `room`. */
const char *diff_amount_text(char room[DIFF_NUMBER], const struct difference *difference, enum compare_side side,
                             double amount);

/* The unit of these amounts: "s", "ms/s", "samples". */
const char *diff_amount_unit(const struct difference *difference);

/* Appends the name of a row: work (app.py:9); of a call path: main > work > f. At most `columns`, 0: any number. */
void diff_put_name(struct bytes *to, const struct difference *difference, const struct diff_row *row, size_t columns,
                   bool ascii);

/* Appends a line about the runs of a side: their names, the time of one, the version of Python. */
void diff_put_side(struct bytes *to, const struct difference *difference, enum compare_side side);

/* Appends that the main scripts are compared as one file; nothing when they have one name. */
void diff_put_scripts(struct bytes *to, const struct difference *difference);

/* Appends a sentence, each without a line's end: how the sides are compared; how sure that is; what makes the
 * comparison weak, or nothing. */
void diff_put_how(struct bytes *to, const struct difference *difference);
void diff_put_sureness(struct bytes *to, const struct difference *difference);
void diff_put_weakness(struct bytes *to, const struct difference *difference);

/* Appends how many recordings of each side would tell the largest changes from noise that these do not tell; nothing
 * when no number is known. */
void diff_put_runs(struct bytes *to, const struct difference *difference);

/* Appends how many rows of a table changed. `rows_are` names one row: "function". */
void diff_put_counts(struct bytes *to, const struct difference *difference, const struct diff_table *table,
                     const char *rows_are);

/* Appends what grew by more than --fail-over and by how much, or that nothing did. */
void diff_put_failure(struct bytes *to, const struct difference *difference);

/* The self or the total of a row. */
static inline const struct judged *diff_judged(const struct diff_row *row, bool total)
{
    return total ? &row->judged.total : &row->judged.self;
}

/* Whether a table of selves, or of totals, shows the row: a total that is a self is not said twice. */
bool diff_shows(const struct diff_row *row, bool total);

#endif
