/* SPDX-License-Identifier: MIT */
#include "record/tree/connector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INITIAL_PIDS       0xEFFFFFFCu /* inode of the initial pid namespace, the same on all machines */
#define BUFFER_BYTES       (4 << 20)   /* for events that wait: an event takes about 1 kB of the buffer */
#define MESSAGE_BYTES      256         /* messages are 76 bytes long */
#define HEAD_BYTES         (NLMSG_HDRLEN + sizeof(struct cn_msg))
#define IN_MESSAGE(member) ((uint32_t)(HEAD_BYTES + offsetof(struct proc_event, member)))

/* ---- listening ---- */

static bool in_initial_pids(void)
{
    struct stat namespace;
    return stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino == INITIAL_PIDS;
}

/* Keeps each fork that makes a process, each execve, the exit of each main thread, and the answer to the order to
 * listen. Words are loaded in network order. */
static bool connector_filter(int connector)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IN_MESSAGE(what)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 11, 0), /* to "all" */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 10, 0), /* to "all" */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXIT), 5, 0),  /* to process_pid */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_FORK), 0, 9),  /* else to "nothing" */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IN_MESSAGE(event_data.fork.child_pid)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IN_MESSAGE(event_data.fork.child_tgid)),
        BPF_STMT(BPF_JMP | BPF_JA, 3), /* to the comparison */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IN_MESSAGE(event_data.exit.process_pid)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IN_MESSAGE(event_data.exit.process_tgid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* all */
        BPF_STMT(BPF_RET | BPF_K, 0),          /* nothing */
    };
    const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
    return setsockopt(connector, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* An order of two words, the operation and which events (0: all), which kernels before 6.6 do not know. */
static bool send_order(int connector, uint32_t operation, uint32_t mark)
{
    const uint32_t order[] = { operation, 0 };
    unsigned char message[HEAD_BYTES + sizeof(order)];
    const struct nlmsghdr netlink = { .nlmsg_len = sizeof(message), .nlmsg_type = NLMSG_DONE };
    const struct cn_msg head = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .ack = mark, .len = sizeof(order) };
    memcpy(message, &netlink, sizeof(netlink));
    memcpy(message + NLMSG_HDRLEN, &head, sizeof(head));
    memcpy(message + HEAD_BYTES, order, sizeof(order));
    return send(connector, message, sizeof(message), 0) == (ssize_t)sizeof(message);
}

/* Takes the event out of a message of the connector. */
static bool connector_take_event(const void *bytes, size_t size, uint32_t *ack, struct proc_event *event)
{
    struct nlmsghdr netlink;
    struct cn_msg head;
    if (size < HEAD_BYTES + sizeof(*event))
        return false;
    memcpy(&netlink, bytes, sizeof(netlink));
    memcpy(&head, (const char *)bytes + NLMSG_HDRLEN, sizeof(head));
    if (netlink.nlmsg_type != NLMSG_DONE || head.id.idx != CN_IDX_PROC || head.id.val != CN_VAL_PROC ||
        head.len < sizeof(*event))
        return false;
    memcpy(event, (const char *)bytes + HEAD_BYTES, sizeof(*event));
    *ack = head.ack;
    return true;
}

/* The kernel answers an order while the order is sent, or never: not to those who may not listen. */
static bool answered(int connector, uint32_t mark)
{
    char bytes[MESSAGE_BYTES];
    ssize_t size;
    while ((size = recv(connector, bytes, sizeof(bytes), 0)) > 0) {
        struct proc_event event;
        uint32_t ack;
        if (connector_take_event(bytes, (size_t)size, &ack, &event) && event.what == PROC_EVENT_NONE && ack == mark + 1)
            return event.event_data.ack.err == 0;
    }
    return false;
}

static bool listen_to(int connector)
{
    const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
    const int size = BUFFER_BYTES;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint32_t mark = (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 8;
    if (setsockopt(connector, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
        setsockopt(connector, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)); /* up to the limit of the machine */
    return connector_filter(connector) && bind(connector, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
           send_order(connector, PROC_CN_MCAST_LISTEN, mark) && answered(connector, mark);
}

int connector_open(void)
{
    if (!in_initial_pids())
        return -1;
    const int connector = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (connector < 0 || listen_to(connector))
        return connector;
    close(connector);
    return -1;
}

void connector_close(int connector)
{
    if (connector < 0)
        return;
    send_order(connector, PROC_CN_MCAST_IGNORE, 0); /* else the kernel counts a listener for ever */
    close(connector);
}

/* ---- events ---- */

bool connector_parse(const void *bytes, size_t size, struct connector_event *event)
{
    struct proc_event told;
    uint32_t ack;
    if (!connector_take_event(bytes, size, &ack, &told))
        return false;
    switch ((uint32_t)told.what) {
    case PROC_EVENT_FORK:
        *event = (struct connector_event){ CONNECTOR_FORK, .pid = told.event_data.fork.child_tgid,
                                           .parent = told.event_data.fork.parent_tgid };
        return told.event_data.fork.child_tgid == told.event_data.fork.child_pid;
    case PROC_EVENT_EXEC:
        *event = (struct connector_event){ CONNECTOR_EXEC, .pid = told.event_data.exec.process_tgid };
        return true;
    case (uint32_t)PROC_EVENT_EXIT:
        *event = (struct connector_event){ CONNECTOR_EXIT, .pid = told.event_data.exit.process_tgid,
                                           .wait_status = (int)told.event_data.exit.exit_code };
        return told.event_data.exit.process_tgid == told.event_data.exit.process_pid;
    default:
        return false;
    }
}

size_t connector_read(int connector, struct connector_event events[CONNECTOR_BATCH], bool *lost)
{
    struct mmsghdr heads[CONNECTOR_BATCH] = { 0 };
    struct sockaddr_nl senders[CONNECTOR_BATCH];
    struct iovec parts[CONNECTOR_BATCH];
    char bytes[CONNECTOR_BATCH][MESSAGE_BYTES];
    for (size_t count = 0; count == 0;) { /* until a message matters, or none is left */
        for (size_t i = 0; i < CONNECTOR_BATCH; i++) {
            parts[i] = (struct iovec){ bytes[i], MESSAGE_BYTES };
            heads[i].msg_hdr = (struct msghdr){
                .msg_name = &senders[i], .msg_namelen = sizeof(senders[i]), .msg_iov = &parts[i], .msg_iovlen = 1
            };
        }
        const int got = recvmmsg(connector, heads, CONNECTOR_BATCH, 0, NULL);
        if (got < 0 && errno == ENOBUFS)
            *lost = true;
        else if (got <= 0)
            return 0;
        for (int i = 0; i < got; i++)
            if (senders[i].nl_pid == 0) /* from the kernel */
                count += connector_parse(bytes[i], heads[i].msg_len, &events[count]);
        if (count > 0)
            return count;
    }
    return 0;
}
