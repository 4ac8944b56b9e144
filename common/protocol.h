/* Messages on penstockd's unix socket (docs/protocol.md): SOCK_SEQPACKET, one
 * message per packet, host byte order (both ends are on one machine).
 *
 * Plain C: the plugin, libpenstock and the daemon include it. A receiver
 * checks magic, version, type, size and every field. Strings are NUL-padded;
 * a string that fills its field has no NUL.
 */
#ifndef PENSTOCK_COMMON_PROTOCOL_H
#define PENSTOCK_COMMON_PROTOCOL_H

#include <stdint.h>

#define PENSTOCK_SOCKET_PATH "/run/penstock/penstockd.sock"
#define PENSTOCK_MAGIC 0x54534e50u /* "PNST" */
#define PENSTOCK_PROTOCOL_VERSION 1u
#define PENSTOCK_MESSAGE_MAX_BYTES 1024u
#define PENSTOCK_LIMIT_LAPSES_S 30u

enum penstock_message_type {
  /* Sender; reply. */
  PENSTOCK_TASK_START = 1, /* root only; REPLY */
  PENSTOCK_TASK_EXIT = 2,  /* root only; no reply */
  PENSTOCK_STEP_END = 3,   /* root only; no reply */
  PENSTOCK_JOB_END = 4,    /* root only; no reply */
  PENSTOCK_HELLO = 5,      /* a job's process; REPLY with two fds */
  PENSTOCK_THREAD = 6,     /* a job's process; REPLY */
  PENSTOCK_STATUS = 7,     /* anyone; REPLY with one fd of JSON */
  PENSTOCK_JOB_START = 8,  /* root only; no reply */
  PENSTOCK_SWITCH = 9,     /* root only; REPLY with one fd of JSON */
  PENSTOCK_LIMIT = 10,     /* a job's process; REPLY */
  PENSTOCK_NOTICE = 11,    /* root only; REPLY */
  PENSTOCK_REPLY = 100
};

struct penstock_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t size_bytes; /* of the whole message, this header included */
  uint32_t request_id; /* copied from the request into its reply */
};

enum penstock_mode {
  PENSTOCK_MODE_UNSET = 0,
  PENSTOCK_MODE_AUTO = 1,
  PENSTOCK_MODE_OFF = 2,
  PENSTOCK_MODE_GUEST = 3
};

enum penstock_report_format {
  PENSTOCK_REPORT_UNSET = 0,
  PENSTOCK_REPORT_TEXT = 1,
  PENSTOCK_REPORT_JSON = 2,
  PENSTOCK_REPORT_NONE = 3
};

enum penstock_watch {
  PENSTOCK_WATCH_UNSET = 0,
  PENSTOCK_WATCH_AUTO = 1,
  PENSTOCK_WATCH_OFF = 2
};

enum penstock_elastic {
  PENSTOCK_ELASTIC_UNSET = 0,
  PENSTOCK_ELASTIC_EXACT = 1,
  PENSTOCK_ELASTIC_SEEDED = 2,
  PENSTOCK_ELASTIC_OFF = 3
};

/* The user's options. Zero means "not given" in every field. */
struct penstock_wire_options {
  uint32_t mode;           /* penstock_mode */
  uint32_t report_format;  /* penstock_report_format */
  uint32_t threads;        /* 1..4096; threads_auto for "auto" */
  uint32_t threads_auto;   /* 1: the user gave "auto" */
  uint64_t bw_bytes_per_s; /* bw_auto for "auto" */
  uint32_t bw_auto;        /* 1: the user gave "auto" */
  uint32_t batch;          /* samples */
  uint32_t weight_milli;   /* 1000 = 1.0 */
  uint32_t watch;          /* penstock_watch */
  uint32_t elastic;        /* penstock_elastic */
  uint32_t reserved;
  char model[256]; /* a profile's name, or an absolute path */
  char match[64];  /* pattern of the loader's name or command line */
  char share[72];  /* a name of at most 64 bytes */
};

struct penstock_task_start {
  struct penstock_header header;
  uint32_t job_id;
  uint32_t step_id;
  uint32_t task_id; /* global rank */
  uint32_t uid;
  uint32_t gid;
  int32_t pid;
  uint64_t callback_ns; /* time in our callbacks of this step so far */
  char gpus[64];        /* as Slurm set SLURM_STEP_GPUS; "": none */
  char job_name[256];   /* UTF-8, cut between characters */
  struct penstock_wire_options options;
};

struct penstock_task_exit {
  struct penstock_header header;
  uint32_t job_id;
  uint32_t step_id;
  uint32_t task_id;
  int32_t pid;
  uint64_t exited_ns; /* CLOCK_MONOTONIC in the task_exit callback */
};

struct penstock_step_end {
  struct penstock_header header;
  uint32_t job_id;
  uint32_t step_id;
  uint64_t launch_ns;    /* time in all our callbacks before exec, summed */
  uint64_t launch_tasks; /* task_post_fork calls in that sum */
};

struct penstock_job_end {
  struct penstock_header header;
  uint32_t job_id;
  uint32_t reserved;
};

/* Sent before the job's first task, if the site has configured
 * spank_penstock_account.so. */
struct penstock_job_start {
  struct penstock_header header;
  uint32_t job_id;
  uint32_t reserved;
  char account[64];   /* as slurmd knows it; "" for none */
  char partition[64]; /* the same */
};

struct penstock_hello {
  struct penstock_header header;
  uint32_t api_version; /* PENSTOCK_PAGE_VERSION of the job's library */
  uint32_t unasked;     /* 1: a hook sends it, in a script that does not */
};

struct penstock_thread {
  struct penstock_header header;
  int32_t tid;        /* in the sender's own pid namespace */
  uint32_t is_loader; /* 1: a loader thread; 0: no longer */
};

struct penstock_status {
  struct penstock_header header;
  uint32_t job_id; /* 0: the node and all jobs visible to the sender */
  uint32_t reserved;
};

/* Switches Penstock off or on, on this node. Idempotent. */
struct penstock_switch {
  struct penstock_header header;
  uint32_t off; /* 1: off; 0: on */
  uint32_t reserved;
};

/* Limits the sender's job on this node during a measurement; both limits are
 * per rank. Until the end the job neither lends nor borrows, even if both are
 * 0. Expires after PENSTOCK_LIMIT_LAPSES_S unless sent again. */
struct penstock_limit {
  struct penstock_header header;
  uint32_t millicores;  /* 0: no limit; else 100 and up */
  uint32_t ends;        /* 1: the measurement ends */
  uint64_t bytes_per_s; /* from the job's pool; 0: only the grant's limit */
};

/* Asks for the line on its report that a job's user gets at its end. Sent after
 * the exit of a step's last task on its first node, which may not have been
 * read yet. */
struct penstock_notice {
  struct penstock_header header;
  uint32_t job_id;
  int32_t pid;        /* of that task's first process */
  uint64_t exited_ns; /* as in its TASK_EXIT */
};

/* status: 0, or a positive errno value. HELLO: fds are the progress page
 * (read-write) and the hint page (read-only). STATUS, SWITCH: one fd, the JSON
 * text. */
struct penstock_reply {
  struct penstock_header header;
  int32_t status;
  uint32_t wants_notice; /* TASK_START. 1: ask for a NOTICE at the end */
  char text[120]; /* the reason in one line; "" if status is 0. NOTICE: the
                     line; "": there is none */
};

#endif
