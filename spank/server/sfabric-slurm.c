/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sfabric-slurm.c - the helper that speaks Slurm's API: one request on stdin, one reply on stdout.
 *
 * slurm_call.h has the requests. It lives for one call because Slurm's API may block for seconds
 * and may exit the process (no configuration); whoever started it has a deadline. It must be linked
 * to libslurmfull of the plugin folder: with libslurm the process dies on slurmdbd's error path.
 * All decisions that need two looks at the same field (read, merge, write, read back) are made
 * here, so that the time between them is milliseconds.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "err.h"
#include "hosts.h"
#include "io.h"
#include "jobfield.h"
#include "json.h"
#include "slurm_api.h"
#include "slurm_call.h"

#define REQUEST_MAX_BYTES (16u << 20)
#define ATTEMPTS 3

/* Exported by libslurmfull; its headers are not installed. */
extern void slurm_xfree(void **item);
extern char *slurm_xstrdup(const char *text);
#ifdef CONF_FLAG_SJX /* AccountingStoreFlags=job_extra, since 23.02 */
extern slurm_conf_t slurm_conf;
#endif

/* An enumerator of 22.05: slurmdbd is just giving the job its index. Newer Slurm needs no such
 * wait. */
#if !HAVE_DECL_ESLURM_JOB_SETTING_DB_INX
#define ESLURM_JOB_SETTING_DB_INX (-1)
#endif

/* ---- replies ---- */

/* Without memory there is no reply: it would lack a part. */
static void need(int rc)
{
	if (rc < 0)
		exit(1);
}

static json_object *error_reply(const char *what, int code)
{
	json_object *reply = json_object_new_object();
	char *text = io_format("%s: %s", what, slurm_strerror(code));

	need(json_put_string(reply, "error", text ? text : what));
	need(json_put_int(reply, "code", code));
	if (code == ESLURM_INVALID_JOB_ID)
		need(json_put_bool(reply, "gone", true));
	/* the daemon did not answer at all: there is no use in asking about the next job */
	if ((code >= 1000 && code < 2000 && code != SLURM_NO_CHANGE_IN_DATA) ||
	    code == ECONNREFUSED || code == ETIMEDOUT)
		need(json_put_bool(reply, "silent", true));
	free(text);
	return reply;
}

static json_object *word_reply(const char *key, const char *word)
{
	json_object *reply = json_object_new_object();

	need(json_put_string(reply, key, word));
	return reply;
}

/* ---- slurmctld ---- */

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		"PENDING", "RUNNING",	"SUSPENDED", "COMPLETED", "CANCELLED", "FAILED",
		"TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY",
	};
	uint32_t base = state & JOB_STATE_BASE;

	return base < sizeof(names) / sizeof(names[0]) ? names[base] : "UNKNOWN";
}

static bool is_running(uint32_t state)
{
	return (state & JOB_STATE_BASE) == JOB_RUNNING || (state & JOB_STATE_BASE) == JOB_SUSPENDED;
}

static bool is_ended(uint32_t state)
{
	return (state & JOB_STATE_BASE) > JOB_SUSPENDED;
}

static int put_state(json_object *object, uint32_t state, time_t submit, time_t start, time_t end)
{
	int rc = json_put_string(object, "state", state_name(state));

	rc = rc ? rc : json_put_bool(object, "running", is_running(state));
	rc = rc ? rc : json_put_bool(object, "ended", is_ended(state));
	rc = rc ? rc : json_put_int(object, "submit", submit);
	if (rc == 0 && start > 0 &&
	    (is_running(state) || is_ended(state))) /* else it is a forecast */
		rc = json_put_int(object, "start", start);
	if (rc == 0 && end > 0 && is_ended(state)) /* else it is the time limit */
		rc = json_put_int(object, "end", end);
	return rc;
}

static int put_hosts(json_object *object, const char *nodes)
{
	json_object *array;
	char **names;
	size_t count;
	int rc;

	if (!nodes || !nodes[0] || !strcmp(nodes, "None assigned"))
		return 0;
	rc = hosts_expand(nodes, JOB_MAX_HOSTS, &names, &count, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	array = json_object_new_array();
	rc = json_put_value(object, "hosts", array);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = json_append(array, json_object_new_string(names[i]));
	hosts_free(names, count);
	return rc;
}

/*
 * One text for each host. A running job without details has no gres at all; of an ended one
 * slurmctld may have dropped them, so that nothing is known.
 */
static int put_gres(json_object *object, const slurm_job_info_t *job)
{
	json_object *array, *hosts;
	size_t count = job->gres_detail_str ? job->gres_detail_cnt : 0;
	int rc;

	if (!count &&
	    (!is_running(job->job_state) || !json_object_object_get_ex(object, "hosts", &hosts)))
		return 0;
	array = json_object_new_array();
	rc = json_put_value(object, "gres", array);
	for (size_t i = 0; rc == 0 && i < (count ? count : json_object_array_length(hosts)); i++) {
		const char *detail = count ? job->gres_detail_str[i] : NULL;

		rc = json_append(array, json_object_new_string(detail ? detail : ""));
	}
	return rc;
}

static json_object *job_json(const slurm_job_info_t *job)
{
	json_object *object = json_object_new_object();
	int rc = object ? json_put_int(object, "job", INFO_JOB_ID(job)) : -ENOMEM;

	rc = rc ? rc : json_put_int(object, "uid", job->user_id);
	if (rc == 0 && job->user_name && job->user_name[0])
		rc = json_put_string(object, "user", job->user_name);
	if (rc == 0 && job->name)
		rc = json_put_string(object, "name", job->name);
	rc = rc ? rc
		: put_state(object, job->job_state, job->submit_time, job->start_time,
			    job->end_time);
	rc = rc ? rc : put_hosts(object, job->nodes);
	rc = rc ? rc : put_gres(object, job);
	rc = rc ? rc : json_put_int(object, "restarts", job->restart_cnt);
	if (rc == 0 && job->array_job_id && job->array_task_id != NO_VAL) {
		rc = json_put_int(object, "array_job", job->array_job_id);
		rc = rc ? rc : json_put_int(object, "array_task", job->array_task_id);
	}
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

static slurm_job_info_t *find_job(job_info_msg_t *msg, uint32_t id)
{
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (INFO_JOB_ID(&msg->job_array[i]) == id)
			return &msg->job_array[i];
	return NULL;
}

/* The job's entry in a message the caller frees, or NULL with *code set. */
static slurm_job_info_t *load_job(uint32_t id, job_info_msg_t **msg, int *code)
{
	slurm_job_info_t *job;

	errno = 0;
	if (slurm_load_job(msg, STEP_OF_JOB(id), SHOW_DETAIL | SHOW_ALL | SHOW_LOCAL) != SLURM_SUCCESS) {
		*code = errno;
		*msg = NULL;
		return NULL;
	}
	job = find_job(*msg, id);
	*code = job ? 0 : ESLURM_INVALID_JOB_ID;
	return job;
}

static json_object *jobs_reply(json_object *jobs, int64_t last_update)
{
	json_object *reply = json_object_new_object();

	need(json_put_value(reply, "jobs", jobs));
	if (last_update)
		need(json_put_int(reply, "last_update", last_update));
	return reply;
}

static json_object *op_job(uint32_t id)
{
	job_info_msg_t *msg = NULL;
	json_object *jobs, *reply;
	int code;
	const slurm_job_info_t *job = load_job(id, &msg, &code);

	if (job) {
		jobs = json_object_new_array();
		need(json_append(jobs, job_json(job)));
		reply = jobs_reply(jobs, 0);
	} else {
		reply = error_reply("slurmctld", code);
	}
	if (msg)
		slurm_free_job_info_msg(msg);
	return reply;
}

/* A few jobs, each by itself. One that slurmctld does not know is not in the answer. */
static json_object *op_few_jobs(json_object *ids)
{
	json_object *jobs = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(ids); i++) {
		int64_t id = json_object_get_int64(json_object_array_get_idx(ids, i));
		job_info_msg_t *msg = NULL;
		int code = ESLURM_INVALID_JOB_ID;
		const slurm_job_info_t *job =
			id > 0 && id <= UINT32_MAX ? load_job((uint32_t)id, &msg, &code) : NULL;

		if (job)
			need(json_append(jobs, job_json(job)));
		if (msg)
			slurm_free_job_info_msg(msg);
		if (!job && code != ESLURM_INVALID_JOB_ID) {
			json_object_put(jobs);
			return error_reply("slurmctld", code);
		}
	}
	return jobs_reply(jobs, 0);
}

static json_object *op_jobs(json_object *ids, int64_t since)
{
	json_object *jobs, *reply;
	job_info_msg_t *msg = NULL;

	if (json_object_array_length(ids) <= SLURM_CALL_FEW_JOBS)
		return op_few_jobs(ids);

	errno = 0;
	if (slurm_load_jobs(since, &msg, SHOW_DETAIL | SHOW_ALL | SHOW_LOCAL) != SLURM_SUCCESS) {
		int code = errno;

		if (code != SLURM_NO_CHANGE_IN_DATA)
			return error_reply("slurmctld", code);
		reply = json_object_new_object();
		need(json_put_bool(reply, "unchanged", true));
		need(json_put_int(reply, "last_update", since));
		return reply;
	}
	jobs = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(ids); i++) {
		int64_t id = json_object_get_int64(json_object_array_get_idx(ids, i));
		slurm_job_info_t *job =
			id > 0 && id <= UINT32_MAX ? find_job(msg, (uint32_t)id) : NULL;

		if (job)
			need(json_append(jobs, job_json(job)));
	}
	reply = jobs_reply(jobs, msg->last_update);
	slurm_free_job_info_msg(msg);
	return reply;
}

static int update_comment(uint32_t id, char *text)
{
	job_desc_msg_t desc;

	slurm_init_job_desc_msg(&desc);
	DESC_JOB_ID(desc) = id;
	desc.admin_comment = text;
	errno = 0;
	return slurm_update_job(&desc) == SLURM_SUCCESS ? 0 : errno ? errno : EIO;
}

/* One read, merge and write of a running job's AdminComment. NULL: to be tried again. */
static json_object *try_tag(uint32_t id, json_object *fabric, size_t max, int *code)
{
	job_info_msg_t *msg = NULL;
	slurm_job_info_t *job = load_job(id, &msg, code);
	char *text = NULL;
	json_object *reply = NULL;
	struct err err;
	int rc;

	if (!job) {
		reply = *code == ESLURM_INVALID_JOB_ID ? word_reply("result", "ended")
						       : error_reply("slurmctld", *code);
	} else if (!is_running(job->job_state)) {
		reply = word_reply("result", "ended");
	} else {
		rc = jobfield_merge(job->admin_comment, fabric, max, &text, &err);
		if (rc < 0)
			reply = rc == -EEXIST ? word_reply("result", "foreign")
					      : word_reply("error", err.text);
		else if (job->admin_comment && !strcmp(job->admin_comment, text))
			reply = word_reply("result", "same");
		else
			*code = update_comment(id, text);
	}
	free(text);
	if (msg)
		slurm_free_job_info_msg(msg);
	if (reply)
		return reply;
	if (*code == 0)
		return word_reply("result", "written");
	if (*code == ESLURM_JOB_FINISHED)
		return word_reply("result", "ended");
	return NULL;
}

static json_object *op_tag(uint32_t id, json_object *fabric, size_t max)
{
	json_object *reply = NULL;
	int code = 0;

	for (int i = 0; i < ATTEMPTS && !reply; i++) {
		if (i > 0)
			usleep(200000);
		reply = try_tag(id, fabric, max, &code);
		if (!reply && code != ESLURM_JOB_SETTING_DB_INX)
			break;
	}
	return reply ? reply : error_reply("AdminComment", code);
}

/* ---- slurmdbd ---- */

/*
 * Which row. A condition on the id of an array's first task means the whole array to slurmdbd:
 * array tasks are addressed by array and task.
 */
struct target {
	uint32_t job;
	bool array;
	uint32_t array_job, array_task;
	const char *cluster;
};

struct database {
	void *connection;
	slurmdb_job_cond_t condition;
	slurm_list steps, clusters;
};

/* The step that names a job in a condition: freed by the list. */
static void free_step(void *step)
{
	free(step);
}

static void free_text(void *text)
{
	slurm_xfree(&text);
}

static int database_open(struct database *db, const struct target *t)
{
	slurm_selected_step_t *step = calloc(1, sizeof(*step));
	uint16_t flags = 0;

	memset(db, 0, sizeof(*db));
	if (!step)
		return ENOMEM;
	errno = 0;
	db->connection = slurmdb_connection_get(&flags);
	if (!db->connection) {
		free(step);
		return errno ? errno : EIO;
	}
	step->array_task_id = t->array ? t->array_task : NO_VAL;
	step->het_job_offset = NO_VAL;
	step->step_id.job_id = t->array ? t->array_job : t->job;
	step->step_id.step_id = NO_VAL;
	step->step_id.step_het_comp = NO_VAL;
	db->steps = slurm_list_create(free_step);
	slurm_list_append(db->steps, step);
	db->clusters = slurm_list_create(free_text);
	slurm_list_append(db->clusters, slurm_xstrdup(t->cluster));
	db->condition.step_list = db->steps;
	db->condition.cluster_list = db->clusters;
	db->condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;
	db->condition.flags = JOBCOND_FLAG_NO_DEFAULT_USAGE | JOBCOND_FLAG_NO_STEP |
			      JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_WHOLE_HETJOB;
	return 0;
}

static void database_close(struct database *db)
{
	if (db->steps)
		slurm_list_destroy(db->steps);
	if (db->clusters)
		slurm_list_destroy(db->clusters);
	if (db->connection)
		slurmdb_connection_close(&db->connection);
}

/*
 * The newest row of the job. *rows is the caller's to destroy; NULL with *code 0: slurmdbd does not
 * know the job.
 */
static slurmdb_job_rec_t *database_job(struct database *db, uint32_t id, slurm_list *rows,
				       int *code)
{
	slurmdb_job_rec_t *newest = NULL, *row;
	slurm_list_iterator iterator;

	errno = 0;
	*rows = slurmdb_jobs_get(db->connection, &db->condition);
	if (!*rows) {
		*code = errno ? errno : EIO;
		return NULL;
	}
	*code = 0;
	iterator = slurm_list_iterator_create(*rows);
	while ((row = slurm_list_next(iterator)))
		if (row->jobid == id && (!newest || row->submit >= newest->submit))
			newest = row;
	slurm_list_iterator_destroy(iterator);
	return newest;
}

static json_object *row_json(const slurmdb_job_rec_t *row)
{
	json_object *object = json_object_new_object();
	/* a row without an end is of a running job, whatever its state says */
	int rc = object ? json_put_int(object, "job", row->jobid) : -ENOMEM;

	rc = rc ? rc : json_put_int(object, "uid", row->uid);
	if (rc == 0 && row->user && row->user[0])
		rc = json_put_string(object, "user", row->user);
	if (rc == 0 && row->jobname)
		rc = json_put_string(object, "name", row->jobname);
	rc = rc ? rc : put_state(object, row->state, row->submit, row->start, row->end);
	rc = rc ? rc : put_hosts(object, row->nodes);
	if (rc == 0 && row->array_job_id && row->array_task_id != NO_VAL) {
		rc = json_put_int(object, "array_job", row->array_job_id);
		rc = rc ? rc : json_put_int(object, "array_task", row->array_task_id);
	}
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

static json_object *op_db(const struct target *t)
{
	json_object *jobs = json_object_new_array(), *reply;
	slurm_list rows = NULL;
	const slurmdb_job_rec_t *row = NULL;
	struct database db;
	int code = database_open(&db, t);

	if (code == 0)
		row = database_job(&db, t->job, &rows, &code);
	if (row)
		need(json_append(jobs, row_json(row)));
	reply = code ? error_reply("slurmdbd", code) : jobs_reply(json_object_get(jobs), 0);
	json_object_put(jobs);
	if (rows)
		slurm_list_destroy(rows);
	database_close(&db);
	return reply;
}

/*
 * The line for Extra, malloc'ed; NULL where it is not written: in Slurm older than 23.02, which has
 * no such field, where the admin keeps none (AccountingStoreFlags=job_extra), or has it parsed as a
 * constraint (SchedulerParameters=extra_constraints), and over what somebody else wrote.
 */
static char *digest_for(const slurmdb_job_rec_t *row, json_object *fabric)
{
#ifdef CONF_FLAG_SJX
	const char *scheduler = slurm_conf.sched_params;

	if ((slurm_conf.conf_flags & CONF_FLAG_SJX) && jobfield_digest_is_ours(row->extra) &&
	    !(scheduler && strstr(scheduler, "extra_constraints")))
		return jobfield_digest(fabric);
#endif
	(void)row;
	(void)fabric;
	return NULL;
}

static int modify_row(struct database *db, char *text, char *digest)
{
	slurmdb_job_rec_t change;
	slurm_list changed;
	int code = 0;

	memset(&change, 0, sizeof(change));
	change.derived_ec = NO_VAL;
	change.admin_comment = text;
#ifdef CONF_FLAG_SJX
	change.extra = digest;
#else
	(void)digest;
#endif
	errno = 0;
	changed = slurmdb_job_modify(db->connection, &db->condition, &change);
	if (!changed)
		return errno ? errno : EIO;
	if (slurm_list_count(changed) < 1)
		code = ESLURM_INVALID_JOB_ID;
	slurm_list_destroy(changed);
	if (code == 0 && slurmdb_connection_commit(db->connection, true) != SLURM_SUCCESS)
		code = errno ? errno : EIO;
	return code;
}

/* What hinders a write to this row, or NULL. */
static json_object *row_hinders(const slurmdb_job_rec_t *row, int64_t submit)
{
	if (!row)
		return word_reply("wait", "slurmdbd does not know the job yet");
	if (row->submit > submit)
		return word_reply("result", "superseded");
	if (row->submit < submit)
		return word_reply("wait", "slurmdbd does not know this run of the job yet");
	if (row->end == 0)
		return word_reply("wait", "slurmdbd does not know the job's end yet");
	return NULL;
}

/* Reads the row and compares: true when AdminComment is text. */
static bool read_back(struct database *db, uint32_t id, const char *text)
{
	slurm_list rows = NULL;
	int code;
	const slurmdb_job_rec_t *row = database_job(db, id, &rows, &code);
	bool same = row && row->admin_comment && !strcmp(row->admin_comment, text);

	if (rows)
		slurm_list_destroy(rows);
	return same;
}

static json_object *write_row(struct database *db, uint32_t id, int64_t submit, json_object *fabric,
			      size_t max)
{
	slurm_list rows = NULL;
	char *text = NULL, *digest = NULL;
	struct err err;
	int code, rc;
	const slurmdb_job_rec_t *row = database_job(db, id, &rows, &code);
	json_object *reply = code ? error_reply("slurmdbd", code) : row_hinders(row, submit);

	rc = reply ? 0 : jobfield_poorer(row->admin_comment, fabric);
	if (rc)
		reply = rc > 0 ? word_reply("result", "poorer")
			       : word_reply("error", "out of memory");
	if (!reply) {
		rc = jobfield_merge(row->admin_comment, fabric, max, &text, &err);
		if (rc < 0)
			reply = rc == -EEXIST ? word_reply("result", "foreign")
					      : word_reply("error", err.text);
		else if (row->admin_comment && !strcmp(row->admin_comment, text))
			reply = word_reply("result", "same");
	}
	if (!reply) {
		digest = digest_for(row, fabric);
		code = modify_row(db, text, digest);
		if (code)
			reply = error_reply("slurmdbd", code);
		else
			reply = read_back(db, id, text)
					? word_reply("result", "written")
					: word_reply("wait", "slurmdbd shows another text");
	}
	free(digest);
	free(text);
	if (rows)
		slurm_list_destroy(rows);
	return reply;
}

static json_object *op_record(const struct target *t, int64_t submit, json_object *fabric,
			      size_t max)
{
	struct database db;
	int code = database_open(&db, t);
	json_object *reply =
		code ? error_reply("slurmdbd", code) : write_row(&db, t->job, submit, fabric, max);

	database_close(&db);
	return reply;
}

/* ---- users ---- */

/* slurmdbd's word on a user: 1 operator or administrator, 0 neither or not known; *code on failure.
 */
static bool database_operator(const char *name, int *code)
{
	slurmdb_user_cond_t condition = { 0 };
	slurmdb_assoc_cond_t assoc = { 0 };
	uint16_t flags = 0;
	void *connection;
	slurmdb_user_rec_t *user;
	slurm_list users;
	bool is = false;

	errno = 0;
	connection = slurmdb_connection_get(&flags);
	if (!connection) {
		*code = errno ? errno : EIO;
		return false;
	}
	assoc.user_list = slurm_list_create(free_text);
	slurm_list_append(assoc.user_list, slurm_xstrdup(name));
	condition.assoc_cond = &assoc;
	users = slurmdb_users_get(connection, &condition);
	*code = users ? 0 : errno ? errno : EIO;
	if (users) {
		slurm_list_iterator iterator = slurm_list_iterator_create(users);

		while ((user = slurm_list_next(iterator)))
			if (user->name && !strcmp(user->name, name))
				is = user->admin_level >= SLURMDB_ADMIN_OPERATOR;
		slurm_list_iterator_destroy(iterator);
		slurm_list_destroy(users);
	}
	slurm_list_destroy(assoc.user_list);
	slurmdb_connection_close(&connection);
	return is;
}

/* What slurm.conf says of uid and of everybody: a code of Slurm's on failure. */
static int ask_conf(uid_t uid, bool *slurm_user, bool *private_nodes)
{
	slurm_conf_t *conf = NULL;

	errno = 0;
	if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
		return errno ? errno : EIO;
	*slurm_user = conf->slurm_user_id == uid;
	*private_nodes = conf->private_data & PRIVATE_DATA_NODES;
	slurm_free_ctl_conf(conf);
	return 0;
}

static json_object *op_user(uid_t uid)
{
	char buffer[4096];
	struct passwd entry, *found = NULL;
	json_object *reply;
	bool is = false, private_nodes = true;
	int code = ask_conf(uid, &is, &private_nodes), database_code = 0;

	if (!is && getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) == 0 && found)
		is = database_operator(found->pw_name, &database_code);
	if (!is && (code || database_code))
		return error_reply(database_code ? "slurmdbd" : "slurmctld",
				   database_code ? database_code : code);
	reply = json_object_new_object();
	need(json_put_bool(reply, "operator", is));
	need(json_put_bool(reply, "nodes", is || !private_nodes));
	return reply;
}

/* ---- requests ---- */

static json_object *run_jobs(json_object *request, struct json_reader *r)
{
	json_object *ids = json_read_array(r, request, "ids");
	int64_t since =
		json_has(request, "since") ? json_read_int(r, request, "since", 0, INT64_MAX) : 0;

	return r->rc ? NULL : op_jobs(ids, since);
}

static struct target read_target(json_object *request, bool database, struct json_reader *r)
{
	struct target t = { .job = (uint32_t)json_read_int(r, request, "job", 1, UINT32_MAX) };

	t.array = json_has(request, "array_job") && json_has(request, "array_task");
	if (t.array) {
		t.array_job = (uint32_t)json_read_int(r, request, "array_job", 1, UINT32_MAX);
		t.array_task = (uint32_t)json_read_int(r, request, "array_task", 0, UINT32_MAX);
	}
	if (database)
		t.cluster = json_read_string(r, request, "cluster");
	return t;
}

static json_object *run_read(const char *op, json_object *request, struct json_reader *r)
{
	bool database = !strcmp(op, "db");
	struct target t = read_target(request, database, r);

	return r->rc ? NULL : database ? op_db(&t) : op_job(t.job);
}

static json_object *run_write(const char *op, json_object *request, struct json_reader *r)
{
	bool database = !strcmp(op, "record");
	struct target t = read_target(request, database, r);
	json_object *fabric = json_read_object(r, request, "fabric");
	int64_t max = json_read_int(r, request, "max", 1, REQUEST_MAX_BYTES);
	int64_t submit = database ? json_read_int(r, request, "submit", 0, INT64_MAX) : 0;

	if (r->rc)
		return NULL;
	return database ? op_record(&t, submit, fabric, (size_t)max)
			: op_tag(t.job, fabric, (size_t)max);
}

static json_object *run_op(const char *op, json_object *request, struct json_reader *r)
{
	if (!strcmp(op, "jobs"))
		return run_jobs(request, r);
	if (!strcmp(op, "user")) {
		uid_t uid = (uid_t)json_read_int(r, request, "uid", 0, UINT32_MAX);

		return r->rc ? NULL : op_user(uid);
	}
	if (!strcmp(op, "job") || !strcmp(op, "db"))
		return run_read(op, request, r);
	if (!strcmp(op, "tag") || !strcmp(op, "record"))
		return run_write(op, request, r);
	json_fail(r, "\"%.32s\" is no request", op);
	return NULL;
}

int main(void)
{
	struct err err = { "" };
	struct json_reader r = { .source = "request", .err = &err };
	json_object *request = NULL, *reply = NULL;
	const char *op = NULL;
	char *text = NULL, *line;
	size_t len;

	/* whoever asked keeps the deadline: without it this might stay for ever */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (io_read_fd(STDIN_FILENO, "stdin", REQUEST_MAX_BYTES, &text, &len, &err) == 0)
		request = json_parse(text, len, "stdin", &err);
	if (request)
		op = json_read_string(&r, request, "op");
	if (op) {
		slurm_init(NULL); /* exits when there is no slurm.conf */
		reply = run_op(op, request, &r);
	}
	if (!reply)
		reply = word_reply("error", err.text);
	line = json_line(reply);
	if (!line || fputs(line, stdout) < 0 || fflush(stdout) != 0)
		return 1;
	free(line);
	free(text);
	json_object_put(reply);
	json_object_put(request);
	return 0;
}
