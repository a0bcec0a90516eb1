/* SPDX-License-Identifier: MIT */
/* The number of files that the recorder may have open. A process takes 5 to 10 descriptors, and 3 more for each of its
 * threads. The soft limit of 1024 that is usual is meant for programs that call select(), which the recorder does not.
 */
#ifndef PYREEL_RECORD_LAUNCH_DESCRIPTORS_H
#define PYREEL_RECORD_LAUNCH_DESCRIPTORS_H

/* Raises the soft limit of open files to the hard one. Call this when the command has been started: the command would
 * inherit the limit. Does nothing when the limit cannot be raised. */
void descriptors_raise_limit(void);

#endif
