/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.c - see conf.h.
 *
 * libconfuse reads and knows the line numbers; this file holds the table of keys, checks the values
 * and copies them out, so that no other file sees libconfuse.
 */
#include "conf.h"

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "slurmconf.h"
#include "text.h"

#ifndef SYSCONFDIR
#error "SYSCONFDIR comes from the build"
#endif
#ifndef LOCALSTATEDIR
#error "LOCALSTATEDIR comes from the build"
#endif

#define CONF_MAX_BYTES (1u << 20)
#define SERVER_PORT "6827"
#define NO_SERVER "none"

/* libconfuse's error callback has no user pointer: what the parse in this thread is about. */
static _Thread_local struct {
	const char *path;
	struct err *err;
	bool failed;
} parse;

__attribute__((format(printf, 2, 0))) static void on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	if (parse.failed) /* the first one is the cause */
		return;
	parse.failed = true;
	err_vset(parse.err, EINVAL, fmt, ap);
	err_prefix(parse.err, 0, "%s:%d", parse.path, cfg->line);
}

static int check_interval(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *text = cfg_opt_getnstr(opt, 0);
	int64_t ns;

	if (text && interval_parse(text, &ns))
		return 0;
	cfg_error(cfg, "%s = \"%s\": an interval is needed, such as \"500ms\", \"1s\" or \"5m\"",
		  opt->name, text ? text : "");
	return -1;
}

static int check_intervals(cfg_t *cfg, cfg_opt_t *opt)
{
	long int n = cfg_opt_getnint(opt, 0);

	if (n >= 1 && n <= 10000)
		return 0;
	cfg_error(cfg, "%s = %ld: a number from 1 to 10000 is needed", opt->name, n);
	return -1;
}

static int check_size(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *text = cfg_opt_getnstr(opt, 0);
	uint64_t bytes;

	if (text && size_parse(text, &bytes))
		return 0;
	cfg_error(cfg, "%s = \"%s\": a size is needed, such as \"256M\"", opt->name,
		  text ? text : "");
	return -1;
}

static int check_gres_order(cfg_t *cfg, cfg_opt_t *opt)
{
	static const char *const words[] = { "off", "nvidia", "nvml", "rsmi", "minor", "pci" };
	const char *text = cfg_opt_getnstr(opt, 0);

	for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i]))
			return 0;
	cfg_error(cfg,
		  "%s = \"%s\": \"off\", \"nvidia\", \"nvml\", \"rsmi\", \"minor\" or \"pci\" is "
		  "needed",
		  opt->name, text ? text : "");
	return -1;
}

static int check_folder(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *text = cfg_opt_getnstr(opt, 0);

	if (text && text[0] == '/')
		return 0;
	cfg_error(cfg, "%s = \"%s\": an absolute path is needed", opt->name, text ? text : "");
	return -1;
}

/* A host, an address, either with a port: nothing that means more in a URL. */
static int check_server(cfg_t *cfg, cfg_opt_t *opt)
{
	unsigned int count = cfg_opt_size(opt);
	const char *text = cfg_opt_getnstr(opt, count - 1);

	if (!text || !*text ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789_.-:[]") != strlen(text)) {
		cfg_error(cfg,
			  "server \"%s\": a host is needed, such as \"ctl1\" or "
			  "\"ctl1:" SERVER_PORT "\"",
			  text ? text : "");
		return -1;
	}
	if (count > 1 &&
	    (!strcmp(text, NO_SERVER) || !strcmp(cfg_opt_getnstr(opt, 0), NO_SERVER))) {
		cfg_error(cfg, "server \"" NO_SERVER "\" can't stand beside others");
		return -1;
	}
	return 0;
}

static int check_class(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *title = cfg_title(cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1));

	if (title && word_valid(title, 32))
		return 0;
	cfg_error(cfg, "class \"%s\": a name of 1 to 32 characters of [a-z0-9-] is needed",
		  title ? title : "");
	return -1;
}

static const char *const kinds[] = {
	"any", "compact", "same-leaf", "same-pod", "spread", "segments"
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define BUILT_IN KIND_SEGMENTS /* this one needs a number */

const char *conf_kind_name(enum conf_kind kind)
{
	return kinds[kind];
}

static bool find_kind(const char *text, enum conf_kind *kind)
{
	for (size_t i = 0; text && i < KINDS; i++)
		if (!strcmp(text, kinds[i])) {
			*kind = (enum conf_kind)i;
			return true;
		}
	return false;
}

static int check_kind(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *text = cfg_opt_getnstr(opt, 0);
	enum conf_kind kind;

	if (find_kind(text, &kind))
		return 0;
	cfg_error(cfg,
		  "%s = \"%s\": \"any\", \"compact\", \"same-leaf\", \"same-pod\", \"spread\" or "
		  "\"segments\" is needed",
		  opt->name, text ? text : "");
	return -1;
}

static int check_nodes(cfg_t *cfg, cfg_opt_t *opt)
{
	long n = cfg_opt_getnint(opt, 0);

	if (n >= 0 && n < 1 << 24)
		return 0;
	cfg_error(cfg, "%s = %ld: a number of nodes is needed", opt->name, n);
	return -1;
}

static cfg_opt_t class_keys[] = {
	CFG_STR("kind", NULL, CFGF_NODEFAULT),
	CFG_INT("segment", 0, CFGF_NONE),
	CFG_STR("wait", "300s", CFGF_NONE),
	CFG_INT("max_nodes", 0, CFGF_NONE),
	CFG_STR_LIST("partitions", "{}", CFGF_NONE),
	CFG_STR_LIST("accounts", "{}", CFGF_NONE),
	CFG_END(),
};

/* The table of keys. Defaults of folders come from the build. */
static cfg_opt_t keys[] = {
	CFG_STR("cluster", "", CFGF_NONE),
	CFG_STR("run_dir", "/run/slurm-fabric", CFGF_NONE),
	CFG_STR("spool_dir", "/var/spool/slurm-fabric", CFGF_NONE),
	CFG_STR("state_dir", LOCALSTATEDIR "/lib/slurm-fabric", CFGF_NONE),
	CFG_STR("fabric_json", "", CFGF_NONE),
	CFG_STR("root", "/", CFGF_NONE),
	CFG_STR("munge_socket", "", CFGF_NONE),
	CFG_STR("slurm_conf", "", CFGF_NONE),
	CFG_STR_LIST("server", "{}", CFGF_NONE),
	CFG_STR("server_user", "slurm-fabric", CFGF_NONE),
	CFG_STR("listen", "0.0.0.0:6827", CFGF_NONE),
	CFG_STR("sample", "1s", CFGF_NONE),
	CFG_STR("sample_min", "100ms", CFGF_NONE),
	CFG_STR("sample_max", "60s", CFGF_NONE),
	CFG_STR("spool_max", "256M", CFGF_NONE),
	CFG_STR_LIST("port_allow", "{}", CFGF_NONE),
	CFG_STR_LIST("port_deny", "{}", CFGF_NONE),
	CFG_BOOL("ethernet", cfg_false, CFGF_NONE),
	CFG_STR("gres_order", "minor", CFGF_NONE),
	CFG_STR("pci_tree", "", CFGF_NONE),
	CFG_INT("suspect_after", 2, CFGF_NONE),
	CFG_INT("clear_after", 10, CFGF_NONE),
	CFG_STR("suspect_for", "1h", CFGF_NONE),
	CFG_BOOL("features", cfg_false, CFGF_NONE),
	CFG_SEC("class", class_keys, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
	CFG_END(),
};

static const struct {
	const char *key;
	cfg_validate_callback_t check;
} checks[] = {
	{ "run_dir", check_folder },	    { "spool_dir", check_folder },
	{ "state_dir", check_folder },	    { "root", check_folder },
	{ "sample", check_interval },	    { "sample_min", check_interval },
	{ "sample_max", check_interval },   { "spool_max", check_size },
	{ "gres_order", check_gres_order }, { "class|wait", check_interval },
	{ "class|kind", check_kind },	    { "class|segment", check_nodes },
	{ "class|max_nodes", check_nodes }, { "server", check_server },
	{ "class", check_class },	    { "suspect_after", check_intervals },
	{ "clear_after", check_intervals }, { "suspect_for", check_interval },
};

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void conf_free(struct conf *c)
{
	if (!c)
		return;
	free(c->path);
	free(c->cluster);
	free(c->run_dir);
	free(c->spool_dir);
	free(c->state_dir);
	free(c->fabric_json);
	free(c->root);
	free(c->munge_socket);
	free(c->slurm_conf);
	free_list(c->servers, c->server_count);
	free(c->server_user);
	free(c->listen);
	free_list(c->port_allow, c->port_allow_count);
	free_list(c->port_deny, c->port_deny_count);
	free(c->gres_order);
	free(c->pci_tree);
	for (size_t i = 0; i < c->class_count; i++) {
		free(c->classes[i].name);
		free_list(c->classes[i].partitions, c->classes[i].partition_count);
		free_list(c->classes[i].accounts, c->classes[i].account_count);
	}
	free(c->classes);
	free(c);
}

/* Copiers: sticky, *rc stays at the first failure. */
static char *copy_string(cfg_t *cfg, const char *key, int *rc)
{
	const char *value = cfg_getstr(cfg, key);
	char *copy = strdup(value ? value : "");

	if (!copy)
		*rc = -ENOMEM;
	return copy;
}

static char **copy_list(cfg_t *cfg, const char *key, size_t *count, int *rc)
{
	unsigned int n = cfg_size(cfg, key);
	char **list = calloc((size_t)n + 1, sizeof(*list));

	*count = 0;
	for (unsigned int i = 0; list && i < n; i++) {
		list[i] = strdup(cfg_getnstr(cfg, key, i));
		if (!list[i])
			break;
		*count = i + 1u;
	}
	if (!list || *count < n)
		*rc = -ENOMEM;
	return list;
}

static int64_t get_interval(cfg_t *cfg, const char *key)
{
	int64_t ns = 0;

	interval_parse(cfg_getstr(cfg, key), &ns); /* checked when it was read */
	return ns;
}

/* A class without a kind is the kind of its name, or compact. */
static void copy_class(cfg_t *section, const char *name, struct conf_class *class, int *rc)
{
	class->kind = KIND_COMPACT;
	find_kind(name, &class->kind);
	class->wait_ns = INT64_C(300000000000);
	class->name = strdup(name);
	if (!class->name)
		*rc = -ENOMEM;
	if (!section)
		return;
	if (cfg_size(section, "kind"))
		find_kind(cfg_getstr(section, "kind"), &class->kind);
	class->segment = (uint32_t)cfg_getint(section, "segment");
	class->wait_ns = get_interval(section, "wait");
	class->max_nodes = (uint32_t)cfg_getint(section, "max_nodes");
	class->partitions = copy_list(section, "partitions", &class->partition_count, rc);
	class->accounts = copy_list(section, "accounts", &class->account_count, rc);
}

static void copy_classes(cfg_t *cfg, struct conf *c, int *rc)
{
	unsigned int n = cfg_size(cfg, "class");

	c->classes = calloc((size_t)n + BUILT_IN, sizeof(*c->classes));
	if (!c->classes) {
		*rc = -ENOMEM;
		return;
	}
	for (unsigned int i = 0; i < BUILT_IN; i++)
		copy_class(cfg_gettsec(cfg, "class", kinds[i]), kinds[i],
			   &c->classes[c->class_count++], rc);
	for (unsigned int i = 0; *rc == 0 && i < n; i++) {
		cfg_t *section = cfg_getnsec(cfg, "class", i);

		if (!conf_find_class(c, cfg_title(section))) /* else one of each kind, done */
			copy_class(section, cfg_title(section), &c->classes[c->class_count++], rc);
	}
}

static int check_classes(const struct conf *c, struct err *err)
{
	for (size_t i = 0; i < c->class_count; i++)
		if ((c->classes[i].kind == KIND_SEGMENTS) != (c->classes[i].segment > 0))
			return err_set(
				err, EINVAL,
				"%s: class \"%s\": kind \"segments\" needs segment, the nodes of "
				"a part, and no other kind has it",
				c->path, c->classes[i].name);
	return 0;
}

static int check_sampling(const struct conf *c, struct err *err)
{
	if (c->sample_min_ns < 10000000)
		return err_set(err, EINVAL, "%s: sample_min must be 10ms at least", c->path);
	if (c->sample_min_ns > c->sample_ns || c->sample_ns > c->sample_max_ns)
		return err_set(err, EINVAL, "%s: sample must lie between sample_min and sample_max",
			       c->path);
	return 0;
}

/* host:port of "host", "host:port", "fd00::1", "[fd00::1]" or "[fd00::1]:port". */
static char *with_port(const char *server)
{
	const char *colon = strchr(server, ':'), *bracket = strrchr(server, ']');

	if (bracket ? bracket[1] == ':' : colon && !strchr(colon + 1, ':'))
		return strdup(server);
	return io_format(colon && !bracket ? "[%s]:" SERVER_PORT : "%s:" SERVER_PORT, server);
}

/* Without `server` the hosts of slurmctld hold; where no slurm.conf can be read there are none. */
static int default_servers(struct conf *c)
{
	struct slurmconf s;
	int rc = slurmconf_load(c->slurm_conf, &s, NULL);

	if (rc == 0) {
		free(c->servers);
		c->servers = s.hosts;
		c->server_count = s.host_count;
		s.hosts = NULL;
		s.host_count = 0;
	}
	slurmconf_clear(&s);
	return rc == -ENOMEM ? rc : 0;
}

/* Fills in what `server` leaves open: its default, ports; {"none"} is no server at all. */
static int complete_servers(struct conf *c)
{
	if (c->server_count == 1 && !strcmp(c->servers[0], NO_SERVER)) {
		free(c->servers[0]);
		c->server_count = 0;
		c->without_server = true;
		return 0;
	}
	if (c->server_count == 0 && default_servers(c) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->server_count; i++) {
		char *whole = with_port(c->servers[i]);

		if (!whole)
			return -ENOMEM;
		free(c->servers[i]);
		c->servers[i] = whole;
	}
	return 0;
}

static int copy_keys(cfg_t *cfg, struct conf *c)
{
	int rc = 0;

	c->cluster = copy_string(cfg, "cluster", &rc);
	c->run_dir = copy_string(cfg, "run_dir", &rc);
	c->spool_dir = copy_string(cfg, "spool_dir", &rc);
	c->state_dir = copy_string(cfg, "state_dir", &rc);
	c->fabric_json = copy_string(cfg, "fabric_json", &rc);
	c->root = copy_string(cfg, "root", &rc);
	c->munge_socket = copy_string(cfg, "munge_socket", &rc);
	c->slurm_conf = copy_string(cfg, "slurm_conf", &rc);
	c->servers = copy_list(cfg, "server", &c->server_count, &rc);
	c->server_user = copy_string(cfg, "server_user", &rc);
	c->listen = copy_string(cfg, "listen", &rc);
	c->sample_ns = get_interval(cfg, "sample");
	c->sample_min_ns = get_interval(cfg, "sample_min");
	c->sample_max_ns = get_interval(cfg, "sample_max");
	size_parse(cfg_getstr(cfg, "spool_max"), &c->spool_max); /* checked when it was read */
	c->port_allow = copy_list(cfg, "port_allow", &c->port_allow_count, &rc);
	c->port_deny = copy_list(cfg, "port_deny", &c->port_deny_count, &rc);
	c->ethernet = cfg_getbool(cfg, "ethernet");
	c->gres_order = copy_string(cfg, "gres_order", &rc);
	c->pci_tree = copy_string(cfg, "pci_tree", &rc);
	c->suspect_after = (unsigned int)cfg_getint(cfg, "suspect_after");
	c->clear_after = (unsigned int)cfg_getint(cfg, "clear_after");
	c->suspect_for_ns = get_interval(cfg, "suspect_for");
	c->features = cfg_getbool(cfg, "features");
	copy_classes(cfg, c, &rc);
	return rc;
}

static struct conf *copy_out(cfg_t *cfg, const char *path, struct err *err)
{
	struct conf *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		err_set(err, ENOMEM, "%s: out of memory", path);
		return NULL;
	}
	c->path = strdup(path);
	rc = copy_keys(cfg, c);
	if (rc == 0 && c->fabric_json[0] == '\0') {
		free(c->fabric_json);
		c->fabric_json = io_format("%s/fabric.json", c->state_dir);
	}
	if (rc == 0)
		rc = complete_servers(c);
	if (rc < 0 || !c->path || !c->fabric_json) {
		err_set(err, ENOMEM, "%s: out of memory", path);
		conf_free(c);
		return NULL;
	}
	if (check_sampling(c, err) < 0 || check_classes(c, err) < 0) {
		conf_free(c);
		return NULL;
	}
	return c;
}

/* Only root may say where root reads. Others' own files are fine for their own runs. */
static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s: is no regular file", path);
	if (geteuid() == 0 && (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH))))
		return err_set(err, EPERM,
			       "%s: must belong to root and be writable by nobody else "
			       "(chown root, chmod go-w)",
			       path);
	return 0;
}

static int read_checked(const char *path, bool optional, char **text, struct err *err)
{
	size_t len;
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT && optional) {
		*text = strdup("");
		return *text ? 0 : err_set(err, ENOMEM, "%s: out of memory", path);
	}
	if (fd < 0)
		return err_set(err, errno, "%s: can't be opened: %s", path, strerror(errno));
	rc = check_owner(fd, path, err);
	if (rc == 0)
		rc = io_read_fd(fd, path, CONF_MAX_BYTES, text, &len, err);
	close(fd);
	if (rc == 0 && strlen(*text) != len) {
		free(*text);
		return err_set(err, EINVAL, "%s: holds a NUL byte", path);
	}
	return rc;
}

/*
 * libconfuse puts the environment in place of ${NAME}, which nobody can switch off; what root's
 * programs do must not depend on variables. So the two characters are refused wherever they stand.
 */
static int refuse_variables(const char *text, const char *path, struct err *err)
{
	const char *at = strstr(text, "${");
	size_t line = 1;

	if (!at)
		return 0;
	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	return err_set(err, EINVAL,
		       "%s:%zu: \"${\": variables are not replaced here; write the value", path,
		       line);
}

struct conf *conf_load(const char *path, bool optional, struct err *err)
{
	struct conf *c = NULL;
	char *text = NULL;
	cfg_t *cfg;

	if (read_checked(path, optional, &text, err) < 0)
		return NULL;
	if (refuse_variables(text, path, err) < 0) {
		free(text);
		return NULL;
	}
	cfg = cfg_init(keys, CFGF_NONE);
	if (!cfg) {
		err_set(err, ENOMEM, "%s: out of memory", path);
		free(text);
		return NULL;
	}
	cfg_set_error_function(cfg, on_error);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		cfg_set_validate_func(cfg, checks[i].key, checks[i].check);
	parse.path = path;
	parse.err = err;
	parse.failed = false;
	if (cfg_parse_buf(cfg, text) == CFG_SUCCESS)
		c = copy_out(cfg, path, err);
	else if (!parse.failed)
		err_set(err, EINVAL, "%s: can't be parsed", path);
	cfg_free(cfg);
	free(text);
	return c;
}

char *conf_expand(const char *dir, const char *node)
{
	const char *mark = strstr(dir, "%n");

	if (!mark)
		return strdup(dir);
	return io_format("%.*s%s%s", (int)(mark - dir), dir, node, mark + 2);
}

const struct conf_class *conf_find_class(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->class_count; i++)
		if (!strcmp(c->classes[i].name, name))
			return &c->classes[i];
	return NULL;
}

const char *conf_default_path(void)
{
	return SYSCONFDIR "/slurm-fabric/fabric.conf";
}

const char *conf_off_path(void)
{
	return SYSCONFDIR "/slurm-fabric/off";
}
