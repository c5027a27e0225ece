#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "fence.h"

#include <errno.h>
#include <stddef.h>

#if defined(__linux__)
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// What root may do to the kernel and to other processes. CAP_PERFMON and CAP_SYS_ADMIN would open the environment and
// the memory map of every process, past Landlock. no_new_privs keeps execve(2) from giving them back.
static const unsigned int dropped_capabilities[] = {
    16 /* CAP_SYS_MODULE */, 17 /* CAP_SYS_RAWIO */, 19 /* CAP_SYS_PTRACE */, 21 /* CAP_SYS_ADMIN */,
    22 /* CAP_SYS_BOOT */, 25 /* CAP_SYS_TIME */, 32 /* CAP_MAC_OVERRIDE */, 33 /* CAP_MAC_ADMIN */,
    38 /* CAP_PERFMON */, 39 /* CAP_BPF */, 40 /* CAP_CHECKPOINT_RESTORE */,
};

struct problem fence_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[2];
  if (syscall(__NR_capget, &header, sets) != 0) return (struct problem){"the list of capabilities", errno};
  for (size_t index = 0; index < sizeof dropped_capabilities / sizeof dropped_capabilities[0]; index++) {
    unsigned int number = dropped_capabilities[index], bit = 1u << (number % 32);
    sets[number / 32].effective &= ~bit;
    sets[number / 32].permitted &= ~bit;
    sets[number / 32].inheritable &= ~bit;
  }
  if (syscall(__NR_capset, &header, sets) != 0) return (struct problem){"fewer capabilities", errno};
  return (struct problem){NULL, 0};
}

struct problem fence_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return (struct problem){"no_new_privs", errno};
  return forbid_core_dumps();
}

#if defined(THIS_ARCHITECTURE)
#define NEW_NAMESPACES                                                                                                 \
  (0x00000080u /* time */ | 0x00020000u /* mount */ | 0x02000000u /* cgroup */ | 0x04000000u /* UTS */ |               \
   0x08000000u /* IPC */ | 0x10000000u /* user */ | 0x20000000u /* PID */ | 0x40000000u /* network */)

// Numbers above 423 are the same on all architectures. They are written as numbers, because the headers of a build
// machine may be older.
static const unsigned int dangerous_calls[] = {
    // Other processes.
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, 438 /* pidfd_getfd */,
    440 /* process_madvise */,
    // Mounts and namespaces.
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_setns, __NR_unshare, 428 /* open_tree */, 429 /* move_mount */,
    430 /* fsopen */, 431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    467 /* open_tree_attr */,
    // Code in the kernel, and the parts of it that have had the most holes.
    __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, 425 /* io_uring_setup */, 426 /* io_uring_enter */,
    427 /* io_uring_register */, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load,
#ifdef __NR_kexec_file_load
    __NR_kexec_file_load,
#endif
    // Keys, which one user's processes share, and files without a path.
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_open_by_handle_at,
    // The machine.
    __NR_reboot, __NR_swapon, __NR_swapoff, __NR_acct, __NR_quotactl, __NR_settimeofday, __NR_clock_settime,
    __NR_sethostname, __NR_setdomainname,
#if defined(__x86_64__)
    __NR_iopl, __NR_ioperm, __NR_modify_ldt,
#endif
};

enum { CALLS = sizeof dangerous_calls / sizeof dangerous_calls[0], CLONE3 = 435, LONGEST = 2 * CALLS + 48 };

struct program {
  struct sock_filter code[LONGEST];
  unsigned short length;
};

static void add(struct program *program, struct sock_filter instruction) {
  program->code[program->length++] = instruction;
}

static void load(struct program *program, unsigned int offset) {
  add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void answer(struct program *program, unsigned int answer) {
  add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

// The next `skipped` instructions run only if the test (BPF_JEQ, BPF_JGE or BPF_JSET) holds.
static void when(struct program *program, unsigned short test, unsigned int value, unsigned char skipped) {
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, skipped));
}

// Both architectures are little-endian: the lower half of an argument comes first.
static unsigned int argument(int index) {
  return offsetof(struct seccomp_data, args) + 8 * (unsigned int)index;
}

enum { REFUSED = SECCOMP_RET_ERRNO | EPERM, UNKNOWN = SECCOMP_RET_ERRNO | ENOSYS };

static void refuse_dangerous_calls(struct program *program) {
  for (size_t index = 0; index < CALLS; index++) {
    when(program, BPF_JEQ, dangerous_calls[index], 1);
    answer(program, REFUSED);
  }
  // The flags of clone3 are in memory, where a filter cannot look. The C library falls back to clone.
  when(program, BPF_JEQ, CLONE3, 1);
  answer(program, UNKNOWN);
  when(program, BPF_JEQ, __NR_clone, 4);
  load(program, argument(0));
  when(program, BPF_JSET, NEW_NAMESPACES, 1);
  answer(program, REFUSED);
  answer(program, SECCOMP_RET_ALLOW);
  // The limits of another process, such as its processor time: 0 is this process.
  when(program, BPF_JEQ, __NR_prlimit64, 4);
  load(program, argument(0));
  when(program, BPF_JEQ, 0, 1);
  answer(program, SECCOMP_RET_ALLOW);
  answer(program, REFUSED);
  // TIOCSTI and TIOCLINUX type into the terminal of a worker that a person started by hand.
  when(program, BPF_JEQ, __NR_ioctl, 6);
  load(program, argument(1));
  when(program, BPF_JEQ, 0x5412, 1);
  answer(program, REFUSED);
  when(program, BPF_JEQ, 0x541C, 1);
  answer(program, REFUSED);
  answer(program, SECCOMP_RET_ALLOW);
}

static void refuse_sockets(struct program *program) {
  when(program, BPF_JEQ, __NR_socket, 4);
  load(program, argument(0));
  when(program, BPF_JEQ, AF_UNIX, 1);
  answer(program, SECCOMP_RET_ALLOW);
  answer(program, SECCOMP_RET_ERRNO | EACCES);
}

struct problem fence_calls(int dangerous, int network) {
  struct program program = {.length = 0};
  load(&program, offsetof(struct seccomp_data, arch));
  add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 1, 0));
  answer(&program, SECCOMP_RET_KILL_PROCESS);
  load(&program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  // The x32 calls have numbers of their own, which no list here has.
  when(&program, BPF_JGE, 0x40000000u, 1);
  answer(&program, UNKNOWN);
#endif
  if (network) refuse_sockets(&program);
  if (network && !dangerous) {
    // io_uring makes sockets without the call for it.
    when(&program, BPF_JEQ, 425, 1);
    answer(&program, REFUSED);
  }
  if (dangerous) refuse_dangerous_calls(&program);
  answer(&program, SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {.len = program.length, .filter = program.code};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) return (struct problem){"seccomp", errno};
  return (struct problem){NULL, 0};
}
#else
struct problem fence_calls(int dangerous, int network) {
  (void)dangerous;
  (void)network;
  return (struct problem){"seccomp on this architecture", ENOSYS};
}
#endif

#else
struct problem fence_privileges(void) { return (struct problem){"no_new_privs", ENOSYS}; }
struct problem fence_capabilities(void) { return (struct problem){"fewer capabilities", ENOSYS}; }

struct problem fence_calls(int dangerous, int network) {
  (void)dangerous;
  (void)network;
  return (struct problem){"seccomp", ENOSYS};
}
#endif
