/* SPDX-License-Identifier: MIT */
/* A text: bytes and their number. The owner of a struct that holds a text says whether the text is owned or borrowed.
 * An owned text comes from text_copy(), or from a function that says so, and is freed with text_free(). Somebody else
 * keeps the bytes of a borrowed text. */
#ifndef PYREEL_FORMATS_BASE_TEXT_H
#define PYREEL_FORMATS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* UTF-8 without a NUL inside. No NUL ends the text. */
struct text {
    const char *bytes;
    size_t size;
};

#define TEXT(literal) ((struct text){ (literal), sizeof(literal) - 1 })

/* Whether two texts have the same bytes. */
bool text_equal(struct text a, struct text b);

/* The bytes of a string, borrowed. */
struct text text_of(const char *string);

/* Compares as bytes; a text comes before its continuations. Less than 0, 0, or more than 0, as memcmp(). */
int text_compare(struct text a, struct text b);

/* Takes the first word of a list that has commas between its words, and moves *list behind the comma: to NULL behind
 * the last word. False when *list is NULL. The empty list has one word, which is empty. */
bool text_take_word(const char **list, struct text *word);

/* Whether the text begins with these bytes. Below: whether it ends with them. */
bool text_begins(struct text text, struct text start);
bool text_ends(struct text text, struct text end);

/* The text without blanks, tabs and ends of lines at both ends. */
struct text text_trimmed(struct text text);

/* An owned copy. */
struct text text_copy(struct text text);

/* Frees the bytes of an owned text. Safe on an empty one. */
void text_free(struct text text);

#endif
