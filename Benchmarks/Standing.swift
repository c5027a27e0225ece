/// Fleets that stay, for a program that looks at them from outside: `Scripts/load-console` measures the console with
/// them. Each prints `port N` when it is there, and ends when its standard input closes.
enum Standing {
  /// The fleet of B21.
  static func large(pending: Int, hosts: Int) async throws {
    let backlog = try await Backlog(pending)
    defer { backlog.remove() }
    try await FleetReading.addHosts(hosts, to: backlog.data)
    let fleet = try await Fleet(slots: 8, data: backlog.data)
    defer { fleet.stop() }
    say("port \(fleet.port)")
    while readLine() != nil {}
  }

  /// The fleet of B1. For each line on its standard input it runs so many jobs and prints `rate N`, in jobs per second.
  static func rates(jobs: Int) async throws {
    let fleet = try await Fleet(slots: 2048)
    defer { fleet.stop() }
    try await fleet.withClient { api in
      say("port \(fleet.port)")
      while readLine() != nil { say("rate \(try await Throughput.rate(jobs: jobs, over: ["noop"], with: api))") }
    }
  }
}
