/* SPDX-License-Identifier: MIT */
/* What /proc says about a process. All files are opened through /proc/PID, so this works for a process in another mount
 * or pid namespace, too. A path that the process itself uses may mean another file for the recorder. Numbers of
 * processes and threads are the recorder's own, unless the name has `ns_`. */
#ifndef PYREEL_RECORD_PROCESS_PROCFS_H
#define PYREEL_RECORD_PROCESS_PROCFS_H

#include "formats/base/bytes.h"
#include "formats/intern/intern.h"

#include <sys/types.h>

/* A mapping in a process that begins at a file's start: the head of a program or library. */
struct image {
    uint64_t address;
    uint64_t device, inode;
    bool program; /* the file is /proc/PID/exe */
    char *path;   /* the path for the process; for messages and hints only */
};

struct images {
    struct image *rows;
    size_t count, room;
};

/* Fills in the heads of all files that are mapped into the process: the program first, then files with "python" in
 * their names. Returns false, with errno, when /proc/PID/maps cannot be read. */
bool procfs_images(pid_t pid, struct images *images);
void procfs_images_free(struct images *images);
/* Adds an image, whose path is the list's afterwards; puts the images into the order of procfs_images(). */
void procfs_images_add(struct images *images, struct image image);
void procfs_images_sort(struct images *images);
/* Opens the file of an image through the process's own root folder: for the recorder, the path may mean another file or
 * none. Returns -1 when the file cannot be opened or is not the one that is mapped. */
int procfs_open_image(pid_t pid, const struct image *image);

/* Opens a regular file for reading. Another kind of file is judged without being opened: to open a device or a pipe may
 * do something, or wait for ever. Returns -1, with errno, on failure; EINVAL: it is no regular file. */
int procfs_open_regular(const char *path);

/* Sets the device and the inode of the program that the process runs. Returns false when they are not known. */
bool procfs_program(pid_t pid, uint64_t *device, uint64_t *inode);

/* The address of the 16 random bytes that the kernel gave the program at execve (AT_RANDOM); 0: not known. */
uint64_t procfs_random(pid_t pid);
/* The address of the code that the kernel lends to the program (vdso), an ELF image; 0: not known. */
uint64_t procfs_vdso(pid_t pid);

/* Sets *started_ns to the time of the process's start on the clock of boot time, at most 10 ms too early. Returns false
 * when it is not known. */
bool procfs_started(pid_t pid, uint64_t *started_ns);

/* Texts of a process as clean UTF-8, which the caller frees with text_free(); empty when unknown. */
struct text procfs_executable(pid_t pid);
struct text procfs_folder(pid_t pid);  /* the current folder, as the program itself sees it */
struct text procfs_command(pid_t pid); /* arguments joined by blanks, quoted where a shell would need it; or the title
                                        * that the process has written over its arguments, always quoted */
struct text procfs_thread_name(pid_t pid, pid_t tid);

/* A number that is another one when the beginning of the command line is: a title is no longer than that. 0: the
 * process has no command line, or has ended. */
uint64_t procfs_command_mark(pid_t pid);

/* Joins arguments as procfs_command() does; each argument ends in a NUL. The caller frees the text. */
struct text procfs_quote_arguments(struct text arguments);
/* The same for the NULL-terminated arguments of a main(). */
struct text procfs_quote_command(char **arguments);

/* The process's number in its innermost pid namespace; 0: unknown. */
pid_t procfs_ns_pid(pid_t pid);

/* Whether the process is in the recorder's pid namespace. */
bool procfs_same_pids(pid_t pid);

/* Fills in `threads` for each thread of a process: (the process's own number for the thread, 0) → the recorder's
 * number. `same`: the process is in the recorder's pid namespace. False when the threads cannot be read. A first thread
 * that has ended is left out. */
bool procfs_map_threads(pid_t pid, bool same, struct intern_pairs *threads);

/* Whether the kernel has no such thread of the process. */
bool procfs_thread_gone(pid_t pid, pid_t tid);

/* The number through which the memory and the files of a process can be read: that of the process or, if its first
 * thread has ended before others, that of another thread. */
pid_t procfs_reader(pid_t pid);

/* Whether a thread of the process lives. The first thread of a process may end before the others. */
bool procfs_thread_lives(pid_t pid, pid_t tid);

/* A range of addresses that the process has mapped in one piece. */
struct mapping {
    uint64_t low, high; /* high: behind the last byte */
    bool stack;         /* of the process's first thread */
};

/* Finds the mapping that has an address. False: there is none. */
bool procfs_mapping(pid_t pid, uint64_t address, struct mapping *mapping);

/* Finds private mappings by what /proc/PID/maps has in the place of a path. For each of `count` names, sets found[i] to
 * the first one whose name begins with names[i]; all of its members are 0 where there is none. */
void procfs_private_mappings(pid_t pid, const char *const *names, struct mapping *found, size_t count);

/* Sets *user to the user of a process. Returns false when there is no such process. */
bool procfs_user(pid_t pid, uid_t *user);

/* The size of a process's memory, in pages, with what it has only reserved; 0: not known. */
uint64_t procfs_pages(pid_t pid);

/* The number of threads of a process; 0: not known. */
size_t procfs_count_threads(pid_t pid);

/* Fills in the numbers of the first `room` threads of a process. Returns how many. */
size_t procfs_threads(pid_t pid, pid_t *tids, size_t room);

/* Whether a thread of the process sleeps, or a signal stopped it, and it has no processor. */
bool procfs_sleeps(pid_t pid, pid_t tid);

/* Sets *processor to the processor on which a thread runs, or ran last. Returns false when it is not known. */
bool procfs_processor(pid_t pid, uint32_t tid, uint32_t *processor);

/* Reads the number behind `name:` in a file such as /proc/self/status, in base 10 or 16. Returns false when there is
 * none. */
bool procfs_number(const char *path, const char *name, int base, uint64_t *number);

#endif
