/* SPDX-License-Identifier: MIT */
/* The kernel's "proc connector": a netlink socket that tells each fork, execve and exit of the machine as it happens.
 *
 * The connector is used since Linux 6.6, where every user may listen. Before, it needs CAP_NET_ADMIN to begin and to
 * end: the recorder gives the capability up (record/guard/guard.h), and a listener that does not end costs each fork of
 * the machine a little until the machine starts anew. The connector is there in the initial network namespace only, so
 * not in most containers. Its numbers are those of the initial pid namespace, so it is used only there. A filter in the
 * kernel drops what concerns threads. */
#ifndef PYREEL_RECORD_TREE_CONNECTOR_H
#define PYREEL_RECORD_TREE_CONNECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum connector_change { CONNECTOR_FORK, CONNECTOR_EXEC, CONNECTOR_EXIT };

struct connector_event {
    enum connector_change change;
    pid_t pid;       /* the process; of a fork: the new one */
    pid_t parent;    /* of a fork: who called fork() */
    int wait_status; /* of an exit: that of the main thread, as waitpid() gives it */
};

#define CONNECTOR_BATCH 32 /* events that one system call reads */

/* Listens. Returns the socket, which becomes readable when there are events; -1 when the connector is not there. */
int connector_open(void);

/* Reads events that have come. Returns their number, 0 when there are none. Sets *lost when events were lost, because
 * too many had come since the last call. */
size_t connector_read(int connector, struct connector_event events[CONNECTOR_BATCH], bool *lost);

/* Takes the event out of the bytes of a message. Returns false when the message has none that matters. */
bool connector_parse(const void *bytes, size_t size, struct connector_event *event);

/* Stops listening. -1 is allowed. */
void connector_close(int connector);

#endif
