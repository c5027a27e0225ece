/// When a host counts as idle, in worker.yaml. The numbers are Baton's own choice.
package struct IdleSettings: Hashable, Sendable {
  /// What may be asked whether somebody is there. The names are those that `explain` shows.
  package enum Source: String, Hashable, Sendable, CaseIterable { case logind, input, terminal, load, pressure }

  /// How long nobody must have been seen. Key `idle.after`.
  package var after = Duration.seconds(180)
  /// What others than Baton may take of all the host's processors together, in per cent: more is busy. Key
  /// `idle.otherLoad`.
  package var otherLoad = 25
  /// Over what time load is measured, so that a burst of two seconds counts as none. Key `idle.loadWindow`.
  package var loadWindow = Duration.seconds(10)
  /// How long load and pressure must have been low again. Key `idle.loadCalm`.
  package var loadCalm = Duration.seconds(60)
  /// Up to which share of the last 10 s something may have waited for memory, for input and output, or for a processor,
  /// in per cent (`some avg10`; Linux, Documentation/accounting/psi.rst). Keys `idle.memoryPressure`,
  /// `idle.ioPressure`, `idle.cpuPressure`.
  package var memoryPressure = 10
  package var ioPressure = 30
  package var cpuPressure = 50
  /// False leaves `/dev/input` alone, also where this user may read it. Key `idle.readInputDevices`.
  package var readsInputDevices = true
  /// Sources that are not asked, such as `logind` on a host whose desktop never says that it is idle. Key
  /// `idle.ignore`.
  package var ignored: Set<Source> = []

  package init() {}
}
