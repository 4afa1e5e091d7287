/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_submit_fabric.c - job_submit/fabric: the class of a job becomes what stock Slurm can do.
 *
 * slurmctld calls job_submit() for each job before it takes it in, with its locks held: what is
 * done there is quick, local and bounded, and no RPC is made (it would wait for the very locks). A
 * class that does not exist is refused with the list of those that do; everything else that goes
 * wrong costs the job its placement and nothing more. Placement is decided in classes.c; here is
 * the edge. fabric.conf and fabric.json are read in init(), and again when they change by a thread
 * of our own: a fabric.json of 35 MB takes a while. Jobs are decided by what was read before until
 * the new one is in, and a broken file leaves that in use. Only Slurm's public headers are used.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "classes.h"
#include "conf.h"
#include "fabric.h"
#include "room.h"
#include "slurmconf.h"

/* In libslurmfull of the slurmctld that loads us, in no public header. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);
extern void slurm_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern void slurm_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern slurm_conf_t slurm_conf __attribute__((weak)); /* read under slurmctld's own lock */

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const char plugin_name[];
EXPORT extern const char plugin_type[];
EXPORT extern const uint32_t plugin_version;
EXPORT int init(void);
EXPORT int fini(void);
EXPORT int job_submit(job_desc_msg_t *job, uint32_t uid, char **err_msg);
EXPORT int job_modify(job_desc_msg_t *job, void *job_record, uint32_t uid, char **err_msg);

const char plugin_name[] = "slurm-fabric placement classes";
const char plugin_type[] = "job_submit/fabric";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* As the environment of slurmctld says, like SLURM_CONF, or where it was installed. */
#define CONF_VARIABLE "SLURM_FABRIC_CONF"

/* How often the thread looks whether a file has changed. */
#ifndef WATCH_MS
#define WATCH_MS 1000
#endif

/* A file and what it looked like when it was last read. */
struct source {
	bool known;
	struct stat st;
};

static struct {
	/* held for moments only: to decide, and to put what was read in place of what was before */
	pthread_mutex_t lock;
	struct conf *conf;
	struct room *room; /* NULL: no placement */

	/* of who reads: init(), and then the thread */
	struct source conf_file, fabric_file, slurm_file;

	pthread_t thread;
	pthread_cond_t wake;
	pid_t started; /* the process that has the thread; 0: none */
	bool stop;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Whether path is another file, or has other content, than at the last call. */
static bool changed(struct source *source, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		memset(&st, 0, sizeof(st));
	if (source->known && st.st_ino == source->st.st_ino && st.st_dev == source->st.st_dev &&
	    st.st_size == source->st.st_size && st.st_mtim.tv_sec == source->st.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == source->st.st_mtim.tv_nsec)
		return false;
	source->known = true;
	source->st = st;
	return true;
}

static void read_conf(void)
{
	const char *path = getenv(CONF_VARIABLE);
	struct conf *conf, *old;
	struct err err;

	if (!path)
		path = conf_default_path();
	if (!changed(&self.conf_file, path))
		return;
	conf = conf_load(path, true, &err);
	if (!conf) {
		slurm_error("job_submit/fabric: %s%s", err.text,
			    self.conf ? ": what was read before stays in use" : "");
		return;
	}
	pthread_mutex_lock(&self.lock);
	old = self.conf;
	self.conf = conf;
	pthread_mutex_unlock(&self.lock);
	conf_free(old);
	self.fabric_file.known = false; /* it may be elsewhere */
}

/* slurm.conf, as slurmctld has it. */
static const char *slurm_conf_path(void)
{
	const char *path = getenv("SLURM_CONF");

	if (self.conf->slurm_conf[0])
		return self.conf->slurm_conf;
	return path && *path ? path : "/etc/slurm/slurm.conf";
}

static void read_fabric(void)
{
	struct slurmconf slurm = { 0 };
	struct fabric *fabric;
	struct room *room, *old;
	struct err err;
	bool is_new;

	if (!self.conf)
		return;
	is_new = changed(&self.fabric_file, self.conf->fabric_json);
	is_new |= changed(&self.slurm_file, slurm_conf_path());
	if (!is_new)
		return;
	fabric = fabric_load_groups(self.conf->fabric_json, &err);
	if (!fabric) {
		slurm_info("job_submit/fabric: %s: %s", err.text,
			   self.room ? "what was read before stays in use"
				     : "jobs are accepted without placement");
		return;
	}
	if (slurmconf_load(slurm_conf_path(), &slurm, &err) < 0)
		slurm_info("job_submit/fabric: %s: every host of the fabric counts as a node",
			   err.text);
	room = room_make(fabric, &slurm, &err);
	slurm_info("job_submit/fabric: %s: %zu units, %zu hosts%s", self.conf->fabric_json,
		   fabric->unit_count, fabric->host_count, room ? "" : ": out of memory");
	slurmconf_clear(&slurm);
	fabric_free(fabric);
	if (!room)
		return;
	pthread_mutex_lock(&self.lock);
	old = self.room;
	self.room = room;
	pthread_mutex_unlock(&self.lock);
	room_free(old);
}

static struct timespec next_look(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += WATCH_MS / 1000;
	at.tv_nsec += WATCH_MS % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

static void *watch(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&self.lock);
	while (!self.stop) {
		struct timespec at = next_look();

		if (pthread_cond_timedwait(&self.wake, &self.lock, &at) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&self.lock);
		read_conf();
		read_fabric();
		pthread_mutex_lock(&self.lock);
	}
	pthread_mutex_unlock(&self.lock);
	return NULL;
}

/*
 * Once in a process: a slurmctld that becomes a daemon behind init() loses the thread, and the
 * first job starts another. It takes none of slurmctld's signals. Called with the lock held.
 */
static void start_watch(void)
{
	pthread_condattr_t attr;
	sigset_t all, was;
	int rc;

	if (self.started == getpid())
		return;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&self.wake, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	rc = pthread_create(&self.thread, NULL, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	self.started = rc == 0 ? getpid() : 0;
	if (rc == 0)
		return;
	pthread_cond_destroy(&self.wake);
	slurm_error("job_submit/fabric: no thread can be made, changed files are not seen: %s",
		    strerror(rc));
}

static void tell(char **err_msg, const char *text)
{
	if (!text[0] || !err_msg)
		return;
	slurm_xfree((void **)err_msg);
	*err_msg = slurm_xstrdup(text);
}

/* "any, compact, big" into text. */
static void list_classes(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < self.conf->class_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 self.conf->classes[i].name);
}

/*
 * The class that a job asks for, checked. *class is NULL when there is nothing to do: no --fabric,
 * or off. Returns SLURM_SUCCESS or what slurmctld tells the user.
 */
static int read_wish(const job_desc_msg_t *job, struct class_wish *wish,
		     const struct conf_class **class, char **err_msg)
{
	const char *value =
		class_find((const char *const *)job->spank_job_env, job->spank_job_env_size);
	char text[512], names[384];
	struct err err;

	*class = NULL;
	if (!value)
		return SLURM_SUCCESS;
	if (class_parse(value, wish, &err) < 0) {
		tell(err_msg, err.text);
		return ESLURM_NOT_SUPPORTED;
	}
	if (!self.conf || !strcmp(wish->name, CLASS_OFF))
		return SLURM_SUCCESS;
	*class = conf_find_class(self.conf, wish->name);
	if (*class)
		return SLURM_SUCCESS;
	list_classes(names, sizeof(names));
	snprintf(text, sizeof(text),
		 "--fabric=%s: there is no such class here; there are %s, and " CLASS_OFF,
		 wish->name, names);
	tell(err_msg, text);
	return ESLURM_NOT_SUPPORTED;
}

static bool given(const char *text)
{
	return text && text[0];
}

/* The user's own flag that says where the job goes, or NULL. */
static const char *own_flag(const job_desc_msg_t *job)
{
	if (job->req_switch != NO_VAL && job->req_switch != 0)
		return "--switches";
	if (given(job->req_nodes))
		return "--nodelist";
	if (given(job->features))
		return "--constraint";
	if (given(job->reservation)) /* which nodes it has only slurmctld knows */
		return "--reservation";
	if (job->bitflags & SPREAD_JOB)
		return "--spread-job";
	if (job->contiguous == 1) /* Slurm then leaves its topology, and --switches with it, out */
		return "--contiguous";
#ifdef HAVE_JOB_DESC_MSG_T_SEGMENT_SIZE
	if (job->segment_size && job->segment_size != NO_VAL16)
		return "--segment";
#endif
	return NULL;
}

static bool has_segments(void)
{
#ifdef HAVE_JOB_DESC_MSG_T_SEGMENT_SIZE
	return &slurm_conf && slurm_conf.topology_plugin &&
	       !strcmp(slurm_conf.topology_plugin, "topology/block");
#else
	return false;
#endif
}

static void ask(job_desc_msg_t *job, const struct class_plan *plan)
{
	if (plan->switches) {
		job->req_switch = plan->switches;
		job->wait4switch = plan->wait_s;
	}
	if (plan->features) {
		slurm_xfree((void **)&job->features);
		job->features = slurm_xstrdup(plan->features);
	}
	if (plan->spread)
		job->bitflags |= SPREAD_JOB;
#ifdef HAVE_JOB_DESC_MSG_T_SEGMENT_SIZE
	if (plan->segment)
		job->segment_size = (uint16_t)plan->segment;
#endif
}

#define MOST_FEATURES 64 /* slurmctld tries one after the other, each time it looks at the job */

static int place(job_desc_msg_t *job, const struct class_wish *wish, const struct conf_class *class,
		 uint32_t nodes, char **err_msg)
{
	struct class_job facts = { .own = own_flag(job),
				   .nodes = nodes,
				   .segments = has_segments() };
	char *units = NULL, *pods = NULL;
	struct class_plan plan;
	int rc;

	facts.fabric = self.room &&
		       room_for(self.room, job->partition, job->exc_nodes, nodes, &facts.room) == 0;
	if (facts.fabric && self.conf->features && wish->modifiers & CLASS_STRICT) {
		facts.unit_features = units = room_features(
			self.room, job->partition, job->exc_nodes, ROOM_UNIT, nodes, MOST_FEATURES);
		facts.pod_features = pods = room_features(self.room, job->partition, job->exc_nodes,
							  ROOM_POD, nodes, MOST_FEATURES);
	}
	rc = class_decide(wish, class, &facts,
			  class_max_wait(&slurm_conf ? slurm_conf.sched_params : NULL), &plan);
	if (rc == 0)
		ask(job, &plan);
	tell(err_msg, plan.note);
	free(units);
	free(pods);
	return rc == 0 ? SLURM_SUCCESS : ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

static int decide(job_desc_msg_t *job, const struct class_wish *wish,
		  const struct conf_class *class, char **err_msg)
{
	bool known = job->min_nodes != NO_VAL && job->min_nodes == job->max_nodes;
	uint32_t least = job->min_nodes == NO_VAL ? 0 : job->min_nodes;
	struct err err;

	if (class_allowed(class, least, job->partition, job->account, &err) == 0)
		return place(job, wish, class, known ? least : 0, err_msg);
	tell(err_msg, err.text);
	return ESLURM_ACCESS_DENIED;
}

static int submit(job_desc_msg_t *job, char **err_msg, bool may_place)
{
	const struct conf_class *class;
	struct class_wish wish;
	int rc;

	if (access(conf_off_path(), F_OK) == 0)
		return SLURM_SUCCESS;
	pthread_mutex_lock(&self.lock);
	start_watch();
	rc = read_wish(job, &wish, &class, err_msg);
	if (rc == SLURM_SUCCESS && class && may_place)
		rc = decide(job, &wish, class, err_msg);
	pthread_mutex_unlock(&self.lock);
	return rc;
}

int init(void)
{
	read_conf();
	read_fabric();
	pthread_mutex_lock(&self.lock);
	start_watch();
	pthread_mutex_unlock(&self.lock);
	return SLURM_SUCCESS;
}

int fini(void)
{
	if (self.started == getpid()) {
		pthread_mutex_lock(&self.lock);
		self.stop = true;
		pthread_cond_signal(&self.wake);
		pthread_mutex_unlock(&self.lock);
		pthread_join(self.thread, NULL);
		pthread_cond_destroy(&self.wake);
	}
	conf_free(self.conf);
	room_free(self.room);
	self.conf = NULL;
	self.room = NULL;
	self.conf_file.known = self.fabric_file.known = self.slurm_file.known = false;
	self.started = 0;
	self.stop = false;
	return SLURM_SUCCESS;
}

int job_submit(job_desc_msg_t *job, uint32_t uid, char **err_msg)
{
	(void)uid;
	return submit(job, err_msg, true);
}

/* A class that comes with a modification is checked; nodes are asked for at submission only. */
int job_modify(job_desc_msg_t *job, void *job_record, uint32_t uid, char **err_msg)
{
	(void)job_record;
	(void)uid;
	return submit(job, err_msg, false);
}
