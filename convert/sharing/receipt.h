/* SPDX-License-Identifier: MIT */
/* The receipts of uploads, with which the profiles can be taken back: a file for each, in the user's state folder. The
 * proof of ownership is a secret, so the files have mode 0600 and the folder has 0700.
 *
 *     ~/.local/state/pyreel/uploads/TOKEN-5d1f00c3.json        {"server": ..., "token": ..., "proof": ..., "link": ...}
 *
 * The number in the name is made of the server's URL, so stores cannot replace each other's files. Folder and file are
 * made before anything is sent: an upload whose proof cannot be kept does not begin. */
#ifndef PYREEL_CONVERT_SHARING_RECEIPT_H
#define PYREEL_CONVERT_SHARING_RECEIPT_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

/* A file that has no contents and no name of its own yet. `= {0}` is none. */
struct receipt_file {
    char *folder;     /* owned */
    char *unfinished; /* temporary path; owned; NULL: the file has no name */
    int fd;
};

/* A receipt. All strings are owned; `= {0}` is none. */
struct receipt {
    char *path;          /* of its file */
    char *server;        /* URL of the store */
    char *token, *proof; /* store_answer.h */
    char *link;          /* to the profile, without a view */
};

/* Makes the folder and an empty file. False with the reason when that cannot be done. */
bool receipt_begin(struct receipt_file *file, struct fault *why);

/* Writes the receipt and gives the file its name. False with the reason on failure; then nothing remains. */
bool receipt_end(struct receipt_file *file, const struct receipt *receipt, struct fault *why);

/* Removes the file. Safe on none, and after receipt_end(). */
void receipt_abandon(struct receipt_file *file);

/* Finds the receipt of a profile. `server` NULL: of any server. False with the reason when there is none, or there are
 * several. */
bool receipt_find(struct receipt *receipt, const char *token, const char *server, struct fault *why);

/* Removes the file of a receipt that was found. */
bool receipt_remove(const struct receipt *receipt, struct fault *why);

/* Frees the strings. Safe on none. */
void receipt_free(struct receipt *receipt);

#endif
