/// When a host counts as idle: the keys below `idle` in worker.yaml. Each default is Baton's own choice.
package struct IdleSettings: Hashable, Sendable {
  /// The sources that can tell whether a host is in use. `baton explain` shows these names.
  package enum Source: String, Hashable, Sendable, CaseIterable { case logind, input, terminal, load, pressure }

  /// How long there must be no sign of a person. Key `idle.after`.
  package var after = Duration.seconds(180)
  /// The share of all the host's processors together that programs other than Baton's may use, in per cent. The host is
  /// busy above it. Key `idle.otherLoad`.
  package var otherLoad = 25
  /// The time over which the load is averaged, so that a burst of two seconds does not count. Key `idle.loadWindow`.
  package var loadWindow = Duration.seconds(10)
  /// How long load and pressure must stay low before the host can count as idle again. Key `idle.loadCalm`.
  package var loadCalm = Duration.seconds(60)
  /// The share of the last 10 s during which some process may wait for memory, for input and output, or for a
  /// processor, in per cent (`some avg10`; Linux, Documentation/accounting/psi.rst). The host is busy above it. Keys
  /// `idle.memoryPressure`, `idle.ioPressure`, `idle.cpuPressure`.
  package var memoryPressure = 10
  package var ioPressure = 30
  package var cpuPressure = 50
  /// `false`: files in `/dev/input` are not opened, even if the worker's user may read them. Key
  /// `idle.readInputDevices`.
  package var readsInputDevices = true
  /// Sources that are not asked, such as `logind` on a host whose desktop never says that it is idle. Key
  /// `idle.ignore`.
  package var ignored: Set<Source> = []

  package init() {}
}
