#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For struct ucred.
#endif

#include "CBatonHost.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#endif

int baton_host_look(const char *path, baton_host_file *file) {
  struct stat status;
  if (stat(path, &status) != 0) return errno;
  file->inode = status.st_ino;
  file->user = status.st_uid;
  file->mode = status.st_mode;
  return 0;
}

int baton_host_measure(const char *path, baton_host_room *room) {
  struct statvfs facts;
  if (statvfs(path, &facts) != 0) return errno;
  room->free_bytes = (long long)facts.f_bavail * (long long)facts.f_frsize;
  room->total_bytes = (long long)facts.f_blocks * (long long)facts.f_frsize;
  // btrfs and other file systems make inodes on demand, and report 0 of 0.
  room->free_files = facts.f_files == 0 ? -1 : (long long)facts.f_favail;
  room->is_read_only = (facts.f_flag & ST_RDONLY) != 0;
  return 0;
}

int baton_host_sync(int file) {
#if defined(__APPLE__)
  return fsync(file) == 0 ? 0 : errno;
#else
  return fdatasync(file) == 0 ? 0 : errno;
#endif
}

int baton_host_clock_is_synchronised(long long *error) {
  struct timex state = {0};
#if defined(__APPLE__)
  int answer = ntp_adjtime(&state);
#else
  int answer = adjtimex(&state);
#endif
  if (answer < 0) return -1;
  *error = state.maxerror;
  return answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

static long long limit_or_none(rlim_t value) { return value == RLIM_INFINITY ? -1 : (long long)value; }

int baton_host_limit(int which, long long *soft, long long *hard) {
  struct rlimit limit;
  if (getrlimit(which == BATON_HOST_OPEN_FILES ? RLIMIT_NOFILE : RLIMIT_NPROC, &limit) != 0) return errno;
  *soft = limit_or_none(limit.rlim_cur);
  *hard = limit_or_none(limit.rlim_max);
  return 0;
}

int baton_host_system(char *text, int size) {
  struct utsname name;
  if (uname(&name) < 0) return errno;
  snprintf(text, (size_t)size, "%s %s %s", name.sysname, name.release, name.machine);
  return 0;
}

int baton_peer(int socket, unsigned int *user, unsigned int *group) {
#if defined(__linux__)
  struct ucred peer;
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  *user = peer.uid;
  *group = peer.gid;
#else
  uid_t uid;
  gid_t gid;
  if (getpeereid(socket, &uid, &gid) != 0) return errno;
  *user = uid;
  *group = gid;
#endif
  return 0;
}

int baton_identify(const char *path, baton_identity *identity) {
  struct stat status;
  if (lstat(path, &status) != 0) return errno;
  identity->device = (unsigned long long)status.st_dev;
  identity->inode = (unsigned long long)status.st_ino;
  identity->user = status.st_uid;
  identity->mode = status.st_mode;
  return 0;
}

#if defined(__linux__)
static int open_events(int protocol, unsigned groups) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (descriptor < 0) return -1;
  struct sockaddr_nl address;
  memset(&address, 0, sizeof address);
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int baton_open_route_events(void) {
  return open_events(
    NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

// Group 1 has the events of the kernel itself; group 2 has the events that udev derives from them.
int baton_open_device_events(void) { return open_events(NETLINK_KOBJECT_UEVENT, 1); }
#else
int baton_open_device_events(void) {
  errno = ENOSYS;
  return -1;
}

int baton_open_route_events(void) {
  errno = ENOSYS;
  return -1;
}
#endif

int baton_last_access(const char *path, unsigned long long *inode, long long *nanoseconds) {
  struct stat status;
  if (stat(path, &status) != 0) return errno;
#if defined(__APPLE__)
  struct timespec access = status.st_atimespec;
#else
  struct timespec access = status.st_atim;
#endif
  *inode = status.st_ino;
  *nanoseconds = (long long)access.tv_sec * 1000000000 + access.tv_nsec;
  return 0;
}

// Swift cannot call ioctl(2), because it is variadic.
int baton_interface_is_running(const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  if (strlen(name) >= sizeof request.ifr_name) {
    errno = ENODEV;
    return -1;
  }
  strcpy(request.ifr_name, name);
#if defined(SOCK_CLOEXEC)
  int kind = SOCK_DGRAM | SOCK_CLOEXEC;
#else
  int kind = SOCK_DGRAM;
#endif
  int descriptor = socket(AF_INET, kind, 0);
  if (descriptor < 0) descriptor = socket(AF_INET6, kind, 0);
  if (descriptor < 0) return -1;
  int result = ioctl(descriptor, SIOCGIFFLAGS, &request);
  int error = errno;
  close(descriptor);
  errno = error;
  if (result != 0) return -1;
  return (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}
