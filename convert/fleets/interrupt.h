/* SPDX-License-Identifier: MIT */
/* Lets a signal end a conversion as the end of the recording does, so that the last window of a live recording is
 * written, too.
 *
 *     pyreel-record -o - ... | pyreel-pprof --every 15 -o NAME -
 *         ^C goes to both programs. The recorder ends the recording, and the end of the pipe ends the conversion.
 *     kill PID
 *         The conversion ends at once, with the samples so far. */
#ifndef PYREEL_CONVERT_FLEETS_INTERRUPT_H
#define PYREEL_CONVERT_FLEETS_INTERRUPT_H

/* From now on, `fd` comes to its end at SIGTERM, and at SIGINT or SIGHUP. At a pipe, the first SIGINT or SIGHUP waits
 * for the pipe's end. A signal that is ignored stays ignored. A signal after the end ends the program. A closed pipe
 * at standard error does not end the program. Call this once. */
void interrupt_ends(int fd);

/* The recording was read to its end, and the number of `fd` may be that of another file from now on. The next signal
 * does nothing, and the one after that ends the program. */
void interrupt_over(void);

#endif
