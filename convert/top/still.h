/* SPDX-License-Identifier: MIT */
/* A still picture of the model: all that the view shows, copied while the events stand still. The view sorts and
 * filters the copy, so a view that is paused keeps its copy while the model goes on. Texts belong to the model, which
 * never moves them, but for the titles of processes, which are copied. */
#ifndef PYREEL_CONVERT_TOP_STILL_H
#define PYREEL_CONVERT_TOP_STILL_H

#include "convert/top/model.h"
#include "formats/model/exactness.h"
#include "formats/model/paths.h"

/* The sums of a row in the window, and of all the time. */
struct still_sums {
    struct window_sums all, recent;
};

struct still_pair {
    uint32_t a, b; /* as in the model's pairs of this kind */
    struct still_sums sums;
};

/* Rows of one kind. `= {0}` is empty. */
struct still_pairs {
    struct still_pair *rows;
    size_t count, room;
};

/* `= {0}` is empty. */
struct still {
    struct shown_code *codes; /* by number, as in the model's entries */
    size_t codes_count, codes_room;
    struct entry *entries;
    size_t entries_count, entries_room;
    struct group *owners; /* by number */
    char *titles;         /* the bytes of the owners' processes */
    struct still_sums *by_owner;
    size_t owners_count, owners_room, titles_room, by_owner_room;
    struct still_pairs pairs[MODEL_KINDS];
    struct paths paths;

    struct text command;     /* of the first process */
    uint32_t pid;            /* of the first process; 0: no process yet */
    uint32_t python_version; /* of the first process */
    bool free_threaded;
    size_t processes; /* that were seen */
    size_t living;    /* of these */
    struct exactness exactness;
    uint64_t samples, failed, lost;
    uint64_t end_ns;     /* of the recording so far */
    uint64_t recent_ns;  /* how long the window is, as far as there is something in it */
    uint64_t counted_ns; /* the time at which the recorder counted what sampling took; 0: not yet */
    uint64_t taken_ns;   /* ... which is this; valid with counted_ns */
    bool cpu_known, gil_wait_known, one_lock;
    bool mostly_waited;     /* the program used little CPU time so far (weight_mostly_waited()) */
    enum end_reason reason; /* 0: the recording goes on, or was cut */
    int wait_status;        /* of the command, as in struct end */
};

/* Takes the picture. The model must not change meanwhile. */
void still_take(struct still *still, struct model *model);

/* Frees the memory. */
void still_free(struct still *still);

#endif
