/* SPDX-License-Identifier: MIT */
/* What names a process where it runs, for those who run many: its cgroup with the container and the pod, and what
 * it says of itself in OpenTelemetry's ways: in its memory (process_context.h), and in variables of its environment. No
 * other variable is taken from there. Lines NAME=VALUE, as struct process has them:
 *
 *     process.linux.cgroup=/kubepods.slice/kubepods-pod2b6e_...slice/cri-containerd-8f1c...scope
 *     container.id=8f1c...                      64 hexadecimal digits in a row, in the last part that has them
 *     k8s.pod.uid=2b6e-...                      behind "pod", with - for _
 *     service.name=checkout                     OTEL_SERVICE_NAME, which goes before OTEL_RESOURCE_ATTRIBUTES
 *     deployment.environment.name=production    OTEL_RESOURCE_ATTRIBUTES: NAME=VALUE,... with %XX in values
 *
 * The environment is that at the start of the program: what Python puts into os.environ is not there. */
#ifndef PYREEL_RECORD_NAMES_ATTRIBUTES_H
#define PYREEL_RECORD_NAMES_ATTRIBUTES_H

#include "formats/base/bytes.h"

#include <sys/types.h>

#define ATTRIBUTES_MOST 3800 /* bytes of all lines; what is beyond is left out, and counted in a line of its own */

/* The attributes of a process, which the caller frees with text_free(); empty when nothing is known. `published`: lines
 * NAME=VALUE of raw bytes that the process itself has published, which go before those of the environment. */
struct text attributes_of(pid_t pid, struct text published);

/* The parts. Append the lines that follow from the text of /proc/PID/cgroup, which ends in a NUL, and from that of
 * /proc/PID/environ, whose variables end in a NUL each, and may be anything. */
void attributes_put_cgroup(struct bytes *to, const char *text);
void attributes_put_environment(struct bytes *to, struct text environment);

/* Appends the lines of `published`. */
void attributes_put_published(struct bytes *to, struct text published);

#endif
