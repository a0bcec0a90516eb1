/* SPDX-License-Identifier: MIT */
/* The processes of a tree that live, by their numbers. */
#ifndef PYREEL_RECORD_TREE_MEMBERS_H
#define PYREEL_RECORD_TREE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_member {
    pid_t pid, parent;
    int pidfd;          /* -1: not open */
    int wait_status;    /* -1: not known */
    uint64_t since_ns;  /* when the process was seen first, or called execve() last (monotonic) */
    uint64_t due_ns;    /* when it is checked next: for execve(), or without a pidfd for its end */
    uint64_t start;     /* when the kernel started it (facts.h); 0: not known */
    uint64_t program;   /* the program that it runs (facts.h); 0: not known */
    uint64_t used_ns;   /* its processor time when `program` was read, ... */
    uint64_t cpu_ns;    /* ... and when it was asked last in its first moments; 0: it was not */
    bool watched;       /* its pidfd is in the epoll set */
    bool comes;         /* TREE_CAME is due */
    bool came;          /* TREE_CAME is in the queue, or was taken */
    bool held;          /* it shares the memory of its parent */
    bool execed, ended; /* since the last look */
    bool reaped;        /* by tree.c, so the number may be that of another process */
    bool orphan;        /* its parent has ended, or is not known */
    bool left_out;      /* there was no descriptor for it */
    bool has_children;
};

/* `= {0}` is empty. */
struct members {
    struct tree_member *rows; /* in no order; members_add() and members_remove() move them */
    size_t count, room;
    uint32_t *slots; /* index in `rows` + 1; 0: none */
    size_t slots_count;
};

/* The member with that number, or NULL. The address is good until members_add() or members_remove(). */
struct tree_member *members_find(const struct members *members, pid_t pid);

/* Adds a member, whose number must not be there. Returns its address. */
struct tree_member *members_add(struct members *members, pid_t pid);

/* Removes a member. */
void members_remove(struct members *members, struct tree_member *member);

/* Frees everything. */
void members_free(struct members *members);

#endif
