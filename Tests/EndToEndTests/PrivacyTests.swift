import ContractRows
import Foundation
import Testing

extension EndToEnd {
  @Suite(
    "A job reads nothing of the processes that run it",
    .enabled(if: ProcessFleet.canBeOrdinary, "root cannot become an ordinary user that may run the programs"),
    .timeLimit(.minutes(10)))
  struct PrivacyTests {
    /// What the job can read from the worker, its supervisor, and a coordinator of the same user.
    private func readings(allowDebugging: Bool) async throws -> [String] {
      let fleet = try ProcessFleet(isOrdinary: true)
      defer { fleet.stop() }
      let more = ["SECRET": "in-the-environment", "BATON_ALLOW_DEBUGGING": allowDebugging ? "1" : ""]
      try await fleet.startCoordinator(lease: "15s", adding: more)
      try await fleet.startWorker("one", adding: more)
      let coordinator = try #require(fleet.coordinator?.pid)
      try fleet.write(
        """
        identifier: com.example.curious
        kind: continued
        title: Curiosity
        work:
          command:
            - /bin/sh
            - -c
            - |
              supervisor=$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$PPID/stat)
              for pid in $PPID $supervisor \(coordinator); do
                grep -qz in-the-environment /proc/$pid/environ && echo "environ" > "$PIPE"
                ls -l /proc/$pid/fd/ 2>/dev/null | grep -q . && echo "fd" > "$PIPE"
                grep -q . /proc/$pid/maps 2>/dev/null && echo "maps" > "$PIPE"
              done
              echo done > "$PIPE"
          environment: {PIPE: \(fleet.pipe.path)}
        """, to: "curious.yaml")
      let submitted = try await fleet.baton("submit", "-f", "curious.yaml")
      #expect(submitted.status == 0, "\(submitted.errors)")
      await fleet.pipe.first { $0 == "done" }
      return fleet.pipe.all.filter { $0 != "done" }
    }

    @Test("neither environment, nor memory (its map), nor descriptors, unless debugging is allowed", .refuses(30))
    func privacy() async throws {
      #expect(try await readings(allowDebugging: false) == [])
      // With debugging allowed everything can be read: without this check, the first one could pass for a wrong reason.
      let open = try await readings(allowDebugging: true)
      #expect(open == Array(repeating: ["environ", "fd", "maps"], count: 3).flatMap { $0 })
    }
  }
}
