/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_infiniband.c - counters of RDMA ports: what the fabric carried, repeated and lost.
 *
 * sys/class/infiniband/DEVICE/ports/N has two folders of one-number files. counters/ is the port's
 * PMA, equal for all drivers that have it; each read is a firmware command or a MAD, so only the
 * two data counters are read in every sample. hw_counters/ is the driver's own, one firmware query
 * for the whole folder within its lifespan; which name means what is a table for each driver below.
 * Data counters count octets divided by 4 (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * Two things that look like a counter are none: the same bytes in both folders are taken once (from
 * counters/), and xmit_wait of an Ethernet port is left out, where ECN and CNP counters say it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "source.h"

#define DEVICES_MAX 256
#define PORTS_MAX 64

struct row {
	const char *name;
	enum meaning meaning;
	int width;
	enum series_behaviour behaviour;
	uint32_t scale;
	bool rare;
};

/*
 * drivers/infiniband/core/sysfs.c, PORT_PMA_ATTR: the widths of the classic counters. Data counters
 * are 64 bits wide in the extended set, which is known by its unicast counters; without them they
 * may be 64 or 32, and 32 saturate: then exactly the highest 32-bit value is taken as saturated.
 */
static const struct row pma_rows[] = {
	{ "port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 4, false },
	{ "port_xmit_data", M_TX_BYTES, 64, SERIES_WRAPS, 4, false },
	{ "symbol_error", M_ERRORS, 16, SERIES_SATURATES, 1, true },
	{ "link_error_recovery", M_ERRORS, 8, SERIES_SATURATES, 1, true },
	{ "link_downed", M_ERRORS, 8, SERIES_SATURATES, 1, true },
	{ "port_rcv_errors", M_ERRORS, 16, SERIES_SATURATES, 1, true },
	{ "local_link_integrity_errors", M_ERRORS, 4, SERIES_SATURATES, 1, true },
	{ "excessive_buffer_overrun_errors", M_ERRORS, 4, SERIES_SATURATES, 1, true },
	{ "port_xmit_discards", M_LOSS, 16, SERIES_SATURATES, 1, true },
	{ "port_xmit_wait", M_CONGESTION, 32, SERIES_SATURATES, 1, true },
	{ NULL, 0, 0, 0, 0, false },
};

/* drivers/infiniband/hw/mlx5/counters.c: q counters are 32 bits and wrap, cong counters are 64. */
static const struct row mlx5_rows[] = {
	{ "packet_seq_err", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "local_ack_timeout_err", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "implied_nak_seq_err", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "rnr_nak_retry_err", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "out_of_buffer", M_LOSS, 32, SERIES_WRAPS, 1, true },
	{ "np_ecn_marked_roce_packets", M_CONGESTION, 64, SERIES_WRAPS, 1, false },
	{ "rp_cnp_handled", M_CONGESTION, 64, SERIES_WRAPS, 1, false },
	{ NULL, 0, 0, 0, 0, false },
};

/* drivers/infiniband/hw/mlx4/main.c, diag counters: requester side. */
static const struct row mlx4_rows[] = {
	{ "sq_num_oos", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "sq_num_to", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ "sq_num_rnr", M_RETRANSMITS, 32, SERIES_WRAPS, 1, false },
	{ NULL, 0, 0, 0, 0, false },
};

/* drivers/infiniband/hw/bnxt_re/hw_counters.c; recoverable_errors is another register: left out. */
static const struct row bnxt_rows[] = {
	{ "rx_bytes", M_RX_BYTES, 64, SERIES_WRAPS, 1, false },
	{ "tx_bytes", M_TX_BYTES, 64, SERIES_WRAPS, 1, false },
	{ "to_retransmits", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "seq_err_naks_rcvd", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "rnr_naks_rcvd", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "rx_roce_errors", M_ERRORS, 64, SERIES_WRAPS, 1, false },
	{ "rx_roce_discards", M_LOSS, 64, SERIES_WRAPS, 1, false },
	{ "rx_out_of_buffer", M_LOSS, 64, SERIES_WRAPS, 1, false },
	{ "rx_ecn_marked_pkts", M_CONGESTION, 64, SERIES_WRAPS, 1, false },
	{ "rp_cnp_handled", M_CONGESTION, 64, SERIES_WRAPS, 1, false },
	{ "rx_cnp_pkts", M_CONGESTION, 64, SERIES_WRAPS, 1, false },
	{ NULL, 0, 0, 0, 0, false },
};

/* amzn-drivers efa_verbs.c. */
static const struct row efa_rows[] = {
	{ "rx_bytes", M_RX_BYTES, 64, SERIES_WRAPS, 1, false },
	{ "tx_bytes", M_TX_BYTES, 64, SERIES_WRAPS, 1, false },
	{ "retrans_timeout_events", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "retrans_pkts", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "rx_drops", M_LOSS, 64, SERIES_WRAPS, 1, false },
	{ NULL, 0, 0, 0, 0, false },
};

/* drivers/infiniband/sw/rxe/rxe_hw_counters.c: no bytes, and 64 bits in software. */
static const struct row rxe_rows[] = {
	{ "completer_retry_err", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "rcvd_seq_err", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ "rcvd_rnr_err", M_RETRANSMITS, 64, SERIES_WRAPS, 1, false },
	{ NULL, 0, 0, 0, 0, false },
};

/* The names that DEVICE/device/driver points to, and how devices are called without it. */
static const struct {
	const char *driver, *prefix;
	const struct row *rows;
} drivers[] = {
	{ "mlx5_core", "mlx5_", mlx5_rows }, { "mlx4_core", "mlx4_", mlx4_rows },
	{ "bnxt_en", "bnxt_re", bnxt_rows }, { "efa", "efa_", efa_rows },
	{ "efa", "rdmap", efa_rows },	     { "rdma_rxe", "rxe", rxe_rows },
};

#define DRIVERS (sizeof(drivers) / sizeof(drivers[0]))

/* One port while its files are looked for. */
struct port {
	const char *folder; /* .../ports/1 */
	const char *name;   /* "mlx5_0:1" */
	bool ethernet;
	bool extended; /* the 64-bit set of data counters */
	bool bytes;    /* counters/ has them */
};

/* The driver's table by its name or, in a tree without the link, by the device's; NULL unknown. */
static const struct row *find_rows(const char *device_folder, const char *device)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t len = -1;

	if (source_path(path, "%s/device/driver", device_folder))
		len = readlink(path, target, sizeof(target) - 1);
	if (len > 0) {
		const char *slash;

		target[len] = '\0';
		slash = strrchr(target, '/');
		for (size_t i = 0; i < DRIVERS; i++)
			if (!strcmp(slash ? slash + 1 : target, drivers[i].driver))
				return drivers[i].rows;
	}
	for (size_t i = 0; i < DRIVERS; i++)
		if (!strncmp(device, drivers[i].prefix, strlen(drivers[i].prefix)))
			return drivers[i].rows;
	return NULL;
}

static bool has(const struct port *port, const char *file)
{
	char path[PATH_MAX];

	return source_path(path, "%s/%s", port->folder, file) && access(path, F_OK) == 0;
}

/* What pma_rows can't know: how wide this port's data counters are. */
static struct series describe(const struct port *port, const struct row *row)
{
	struct series like = { .meaning = row->meaning,
			       .width = row->width,
			       .behaviour = row->behaviour,
			       .scale = row->scale };

	if (row >= pma_rows && row < pma_rows + sizeof(pma_rows) / sizeof(pma_rows[0]) &&
	    row->width == 64 && !port->extended) {
		like.width = 32;
		like.behaviour = SERIES_SATURATES;
	}
	return like;
}

static int add_row(const struct port *port, const char *set, const struct row *row,
		   struct source_list *list)
{
	const struct series like = describe(port, row);
	char *path = io_format("%s/%s/%s", port->folder, set, row->name);
	struct source_file *file;
	int rc = -ENOMEM;

	if (!path)
		return rc;
	if (access(path, F_OK) < 0) { /* this driver or firmware has no such counter */
		free(path);
		return 0;
	}
	file = source_add_file(list, &source_infiniband, path);
	if (file) {
		file->rare = row->rare;
		rc = source_add_series(file, &like, row->name, port->name);
	}
	free(path);
	return rc;
}

static bool wanted(const struct port *port, const struct row *row, bool pma)
{
	if (pma)
		return row->meaning != M_CONGESTION || !port->ethernet;
	if (row->meaning == M_CONGESTION)
		return port->ethernet;
	return !port->bytes || (row->meaning != M_RX_BYTES && row->meaning != M_TX_BYTES);
}

static int add_port(const struct port *port, const struct row *rows, struct source_list *list)
{
	for (const struct row *row = pma_rows; row->name; row++)
		if (wanted(port, row, true) && add_row(port, "counters", row, list) < 0)
			return -ENOMEM;
	for (const struct row *row = rows; row && row->name; row++)
		if (wanted(port, row, false) && add_row(port, "hw_counters", row, list) < 0)
			return -ENOMEM;
	return 0;
}

/* Whether ports/N/link_layer, if it is there, says Ethernet; a negative errno when it can't be
 * read. */
static int is_ethernet(const char *folder)
{
	char path[PATH_MAX], text[64];
	int fd, rc = 0;

	if (!source_path(path, "%s/link_layer", folder))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (source_read(fd, text, sizeof(text)) < 0)
		rc = -errno;
	close(fd);
	return rc ? rc : !strncmp(text, "Ethernet", 8);
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The names in folder, sorted, at most max; free_names() frees them. No folder: no names. 0 or a
 * negative errno.
 */
static int list_names(const char *folder, size_t max, char ***names, size_t *count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	*names = NULL;
	*count = 0;
	if (!dir)
		return source_passing(errno) ? -errno : 0;
	*names = calloc(max, sizeof(**names));
	rc = *names ? 0 : -ENOMEM;
	while (rc == 0 && *count < max && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) > 48)
			continue;
		(*names)[*count] = strdup(entry->d_name);
		if ((*names)[*count])
			(*count)++;
		else
			rc = -ENOMEM;
	}
	closedir(dir);
	if (*count)
		qsort(*names, *count, sizeof(**names), by_name);
	return rc;
}

static int add_device(const char *root, const char *device, struct source_list *list)
{
	char *folder = io_format("%s/sys/class/infiniband/%s", root, device);
	char *ports = folder ? io_format("%s/ports", folder) : NULL, **names = NULL;
	const struct row *rows = folder ? find_rows(folder, device) : NULL;
	size_t count = 0;
	int rc = ports ? list_names(ports, PORTS_MAX, &names, &count) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		char *path = io_format("%s/%s", ports, names[i]);
		char *name = io_format("%s:%s", device, names[i]);
		struct port port = { .folder = path, .name = name };

		rc = path && name ? is_ethernet(path) : -ENOMEM;
		if (rc >= 0) {
			port.ethernet = rc;
			port.extended = has(&port, "counters/unicast_rcv_packets");
			port.bytes = has(&port, "counters/port_rcv_data");
			rc = add_port(&port, rows, list);
		} else if (!source_passing(-rc)) {
			rc = 0; /* what its counters mean is not known */
		}
		free(path);
		free(name);
	}
	free_names(names, count);
	free(ports);
	free(folder);
	return rc;
}

static int discover(const char *root, struct source_list *list)
{
	char *folder = io_format("%s/sys/class/infiniband", root), **devices = NULL;
	size_t count = 0;
	int rc = folder ? list_names(folder, DEVICES_MAX, &devices, &count) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_device(root, devices[i], list);
	free_names(devices, count);
	free(folder);
	return rc;
}

static void parse(const struct source_file *file, const char *text, uint64_t *values, bool *valid)
{
	if (file->count == 1)
		valid[0] = source_number(text, &values[0]);
}

const struct source source_infiniband = { "infiniband", discover, parse };
