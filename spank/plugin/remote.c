/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.c - fabric.so in slurmstepd: tells sfabricd of the step, and reads the node's
 * lists.
 *
 * Nothing here waits and nothing here fails: a socket that is not there, a full queue or a file
 * that is not as it must be is one line in the log and otherwise silence. The connection stays open
 * while the step runs, so that sfabricd sees its end even when slurmstepd is killed; step-end says
 * all that step-begin said, so that it is enough for an sfabricd that was started in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "classes.h"
#include "env.h"
#include "plugin.h"
#include "text.h"

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- what we know of the step ---- */

static uint32_t item_u32(spank_t spank, spank_item_t item, uint32_t unknown)
{
	uint32_t value;

	return spank_get_item(spank, item, &value) == ESPANK_SUCCESS ? value : unknown;
}

/*
 * GPUs of the step on this node. SLURM_JOB_GPUS in a normal step is the batch host's list,
 * inherited with the environment and wrong elsewhere; SLURM_STEP_GPUS is set (or unset) by
 * slurmstepd itself.
 */
static void fill_gpus(spank_t spank, struct packet *step)
{
	const char *name = step->step == STEP_ID_BATCH ? "SLURM_JOB_GPUS" : "SLURM_STEP_GPUS";

	step->gpus_known =
		spank_getenv(spank, name, step->gpus, sizeof(step->gpus)) == ESPANK_SUCCESS &&
		plugin_gpus_valid(step->gpus);
	if (!step->gpus_known)
		step->gpus[0] = '\0';
}

/* A name that nobody can guess before the step runs; none when there is no randomness yet. */
static void fill_mark(struct packet *step)
{
	unsigned char bytes[16];
	int used;

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
		return;
	used = snprintf(step->mark, sizeof(step->mark), "slurm-fabric-");
	for (size_t i = 0; i < sizeof(bytes); i++)
		used += snprintf(step->mark + used, sizeof(step->mark) - (size_t)used, "%02x",
				 bytes[i]);
}

static void fill_step(spank_t spank, struct plugin *p, uint32_t step_id)
{
	struct packet *step = &p->step;
	char *cores = NULL;
	uid_t uid = 0;

	memset(step, 0, sizeof(*step));
	step->kind = PACKET_STEP_BEGIN;
	step->began_ns = real_ns();
	step->began_mono_ns = plugin_now().mono_ns;
	step->step = step_id;
	step->job = item_u32(spank, S_JOB_ID, PACKET_UNKNOWN);
	spank_get_item(spank, S_JOB_UID, &uid);
	step->uid = uid;
	step->node_index = item_u32(spank, S_JOB_NODEID, 0);
	step->node_count = item_u32(spank, S_JOB_NNODES, 1);
	if (step_id == STEP_ID_BATCH) { /* one node, where Slurm says 0 */
		step->node_index = 0;
		step->node_count = 1;
	}
	step->tasks = item_u32(spank, S_JOB_LOCAL_TASK_COUNT, PACKET_UNKNOWN);
	if (spank_get_item(spank, S_STEP_ALLOC_CORES, &cores) != ESPANK_SUCCESS || !cores)
		cores = (char *)"";
	step->cores = plugin_list_count(cores);
	fill_gpus(spank, step);
	strcpy(step->class, p->option[OPTION_CLASS]);
	strcpy(step->sample, p->option[OPTION_SAMPLE]);
	strcpy(step->env, p->option[OPTION_ENV]);
	fill_mark(step);
}

/* ---- the env file ---- */

/* The first bytes of a file of the kernel's, without the newline; "" when it can't be read. */
static void read_boot_id(char id[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, id, 36);

	if (fd >= 0)
		close(fd);
	id[len == 36 ? 36 : 0] = '\0';
}

/* Reads up to max bytes; their number, or -1. */
static ssize_t read_whole(int fd, char *text, size_t max)
{
	size_t used = 0;

	while (used < max) {
		ssize_t len = read(fd, text + used, max - used);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -1;
		if (len == 0)
			break;
		used += (size_t)len;
	}
	return (ssize_t)used;
}

/* What is wrong with an open env file, or NULL. */
static const char *env_file_fault(int fd, struct plugin *p)
{
	struct stat st;
	char boot_id[37];
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "no regular file";
	if (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH))
		return "others than root can write it";
	if (st.st_size > (off_t)sizeof(p->env_text))
		return "too large";
	len = read_whole(fd, p->env_text, sizeof(p->env_text));
	if (len < 0)
		return strerror(errno);
	read_boot_id(boot_id);
	if (!env_file_valid(p->env_text, (size_t)len, boot_id))
		return "not of this boot, or of another version";
	p->env_len = (size_t)len;
	return NULL;
}

static void load_env(struct plugin *p)
{
	char path[PLUGIN_PATH + 8];
	const char *fault;
	int fd;

	snprintf(path, sizeof(path), "%s/env", p->config.run);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	fault = fd < 0 ? strerror(errno) : env_file_fault(fd, p);
	if (fd >= 0)
		close(fd);
	if (fault && p->sock >= 0) /* without sfabricd there is a line already */
		slurm_info("fabric: %s: %s: tasks get no adapter lists", path, fault);
}

static void choose_env(struct plugin *p)
{
	const char *value = p->option[OPTION_ENV];

	if (!value[0] || !strcmp(value, "default"))
		value = p->config.env;
	p->wanted = env_wanted_parse(value);
	if (p->wanted < 0)
		p->wanted = 0;
	if (p->wanted)
		load_env(p);
}

/* ---- the socket ---- */

/* A socket that a task's redirection of its standard streams can't hit; -1 and errno. */
static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), above;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return above;
}

/* Only root may listen there: whoever does learns what jobs run. */
static int check_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -1;
	if (peer.uid == 0)
		return 0;
	errno = EACCES;
	return -1;
}

/* Connects, or leaves p->sock -1 and a line in the log. Never waits: a full backlog is EAGAIN. */
static void connect_sfabricd(struct plugin *p)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/sfabricd.sock",
			   p->config.run);

	if (len < 0 || (size_t)len >= sizeof(address.sun_path)) {
		slurm_info("fabric: run=%s is too long for a socket's path", p->config.run);
		return;
	}
	p->sock = open_socket();
	if (p->sock >= 0 &&
	    connect(p->sock, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    check_peer(p->sock) == 0)
		return;
	if (!p->lost)
		slurm_info("fabric: %s: %s: sfabricd is not told of this step", address.sun_path,
			   strerror(errno));
	p->lost = true;
	if (p->sock >= 0)
		close(p->sock);
	p->sock = -1;
}

/* Sends one packet; false when the connection is of no use any more. A full queue drops it. */
static bool send_packet(struct plugin *p, const struct packet *packet)
{
	char text[PACKET_MAX];
	int len, cause;

	if (p->sock < 0)
		return false;
	len = packet_write(packet, text);
	if (len < 0) {
		slurm_info("fabric: a packet can't be written: %s", strerror(-len));
		return true;
	}
	if (send(p->sock, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	cause = errno;
	if (!p->lost)
		slurm_info("fabric: sfabricd: %s: packets of this step are lost", strerror(cause));
	p->lost = true;
	if (cause == EAGAIN || cause == ENOBUFS)
		return true;
	close(p->sock);
	p->sock = -1;
	return false;
}

/* ---- the hooks ---- */

/* Moves the clock of our hooks to memory that the tasks' children share, so that they count too. */
static void share_clock(struct plugin *p)
{
	struct plugin_clock *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return;
	atomic_init(&shared->stepd_ns, atomic_load(&p->clock->stepd_ns));
	atomic_init(&shared->task_ns, 0);
	atomic_init(&shared->cpu_ns, atomic_load(&p->clock->cpu_ns));
	p->clock = shared;
}

static uint32_t to_us(uint64_t ns)
{
	return ns / 1000 < PACKET_UNKNOWN ? (uint32_t)(ns / 1000) : PACKET_UNKNOWN - 1;
}

void plugin_remote_begin(spank_t spank, struct plugin *p)
{
	uint32_t step = item_u32(spank, S_JOB_STEPID, STEP_ID_EXTERN);

	if (step == STEP_ID_EXTERN || !strcmp(p->option[OPTION_CLASS], CLASS_OFF))
		return;
	p->pid = getpid();
	share_clock(p);
	fill_step(spank, p, step);
	connect_sfabricd(p);
	choose_env(p);
	send_packet(p, &p->step);
}

void plugin_remote_task(spank_t spank, struct plugin *p)
{
	struct packet task = { .kind = PACKET_TASK, .job = p->step.job, .step = p->step.step };
	int local_id;
	pid_t pid;

	if (spank_get_item(spank, S_TASK_ID, &local_id) != ESPANK_SUCCESS || local_id < 0 ||
	    spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS)
		return;
	task.local_id = (uint32_t)local_id;
	task.pid = pid;
	send_packet(p, &task);
}

void plugin_remote_task_exit(spank_t spank, struct plugin *p)
{
	int status;

	if (spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS || status < 0)
		return;
	if (!p->step.status_known || status > p->step.status)
		p->step.status = status;
	p->step.status_known = true;
}

void plugin_remote_end(struct plugin *p, struct plugin_instant hook_began)
{
	struct plugin_instant now = plugin_now();
	char step[STEP_TEXT];

	if (p->pid != getpid()) /* some child of slurmstepd's */
		return;
	p->step.kind = PACKET_STEP_END;
	p->step.ended_ns = real_ns();
	p->step.hooks_us =
		to_us(atomic_load(&p->clock->stepd_ns) + atomic_load(&p->clock->task_ns) +
		      (uint64_t)(now.mono_ns - hook_began.mono_ns));
	if (!send_packet(p, &p->step)) { /* sfabricd came or came back after the step began */
		connect_sfabricd(p);
		send_packet(p, &p->step);
	}
	now = plugin_now();
	slurm_debug(
		"fabric: our hooks in %u.%s took %u us, %u us of CPU", p->step.job,
		step_format(p->step.step, step),
		to_us(atomic_load(&p->clock->stepd_ns) + atomic_load(&p->clock->task_ns) +
		      (uint64_t)(now.mono_ns - hook_began.mono_ns)),
		to_us(atomic_load(&p->clock->cpu_ns) + (uint64_t)(now.cpu_ns - hook_began.cpu_ns)));
	if (p->sock >= 0)
		close(p->sock);
	p->sock = -1;
	p->pid = 0;
}
