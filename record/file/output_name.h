/* SPDX-License-Identifier: MIT */
/* What -o may have in the name of a file, so that many recorders that write into one folder do not meet:
 *
 *     spark-%h-%p.pyreel            %h the host, %p the process that is recorded; with --all, the recorder
 *     mpi-%r.pyreel                 %r the rank in a job of MPI or Slurm; "none" outside of one
 *     day-%Y%m%dT%H%M%S.pyreel      as strftime(3) has it, in UTC: when the recording begins
 *     100%%.pyreel                  %% a percent sign; what is none of these stays */
#ifndef PYREEL_RECORD_FILE_OUTPUT_NAME_H
#define PYREEL_RECORD_FILE_OUTPUT_NAME_H

#include <sys/types.h>
#include <time.h>

/* The name with all of these replaced. NULL for NULL. The caller frees it. */
char *output_name(const char *pattern, pid_t pid, time_t now);

#endif
