import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonHost
@testable import BatonProcess

@Suite("What a worker says of its host")
struct HostStatusTests {
  private var busy: HostStatus {
    var conditions = Conditions.assumed
    conditions.power = Reading(.battery, source: "sysfs", raw: "AC/online 0", age: .seconds(192))
    conditions.battery = Reading(64, source: "sysfs", raw: "BAT0/capacity 64\u{1B}[31m")
    conditions.gpus = Reading(
      [GPU(id: "a", name: "Some GPU", memoryBytes: 8 << 30), GPU(name: "Gone", memoryBytes: 0, isPresent: false)],
      source: "nvidia")
    conditions.labels = Reading(["room": "attic", "disk": "fast"], source: "worker.yaml")
    let now = ManualNow.noon
    return HostStatus(
      at: now, name: "desk", version: "1.2.3", coordinator: .init(address: "127.0.0.1:7420", isConnected: false),
      owner: .paused(by: "ann", until: now + .seconds(7200)), slots: 8, usedSlots: 3, conditions: conditions,
      launches: [
        .init(
          identifier: JobIdentifier("com.example.photos.export.42")!, request: 7, launch: 2, kind: .processing,
          since: now + .seconds(-192), progress: Progress(batches: 3, completedUnits: 120, totalUnits: 247),
          expiring: .init(.pausedByOwner, deadline: now + .milliseconds(27_400)),
          use: ProcessUse(cpuTime: .seconds(125), memory: 1_300_000_000)),
        .init(
          identifier: JobIdentifier("com.example.mail")!, request: 1024, launch: 1, kind: .refresh,
          since: now + .milliseconds(-340), progress: Progress()),
      ],
      today: .init(
        HostUse(launches: 12, launchTime: .seconds(12_000), cpuTime: .milliseconds(7_500_250)),
        dailyAllowance: .seconds(28_800)))
  }

  @Test("texts that devices, jobs and users chose act on no terminal, in words and in JSON", .refuses(35))
  func hostile() throws {
    let hostile = "x\u{1B}]0;owned\u{7}\u{9B}5m\r\u{7F}\u{0}\u{202E}\u{2066}\u{2028}\u{E0041}\nFORGED"
    var conditions = Conditions.assumed
    conditions.power = Reading(.battery, source: hostile, raw: hostile)
    conditions.gpus = Reading([GPU(name: hostile, memoryBytes: 0)], source: hostile, raw: hostile)
    conditions.labels = Reading([hostile: hostile], source: hostile, raw: hostile)
    let now = ManualNow.noon
    let status = HostStatus(
      at: now, name: hostile, version: hostile, coordinator: .init(address: hostile, isConnected: true),
      owner: .paused(by: hostile, until: nil), slots: 1, usedSlots: 1, conditions: conditions,
      launches: [
        .init(
          identifier: JobIdentifier(trusted: hostile), request: 1, launch: 1, kind: .refresh, since: now,
          progress: Progress(), expiring: .init(.cancelled(by: hostile), deadline: now))
      ], today: .init(HostUse()))
    for text in [status.text, status.ownerSentence, try status.json] {
      #expect(text.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" }, "\(text.debugDescription)")
      #expect(!text.split(separator: "\n").contains { $0.hasPrefix("FORGED") })
    }
    #expect(try JSONDecoder().decode(HostStatus.self, from: Data(status.json.utf8)) == status)
  }

  @Test("people see what runs, what it has used, and the conditions")
  func text() {
    #expect(
      busy.text == """
        desk (baton-worker 1.2.3)
          Coordinator  127.0.0.1:7420, not connected
          Owner        paused by ann until 2026-03-01T14:00:00Z (2h)
          Slots        3 of 8 in use
          Today        12 launches, 3h 20m of 8h of launch time, 2h 5m of CPU time

        RUNNING                       REQUEST  LAUNCH  KIND           FOR     DONE  BATCHES  CPU TIME   MEMORY  STOPPING
        com.example.photos.export.42        7       2  processing  3m 12s  120/247        3     2m 5s  1.2 GiB  pausedByOwner, 28 s left
        com.example.mail                 1024       1  refresh      340ms        0        0         -        -  -

        CONDITION       VALUE                  SOURCE          FOR  READ
        power           battery                sysfs        3m 12s  AC/online 0
        battery         64 %                   sysfs             -  BAT0/capacity 64\\u{1b}[31m
        low power mode  off                    assumed           -  -
        thermal         nominal                assumed           -  -
        network         unmetered              assumed           -  -
        idle            unknown                assumed           -  -
        gpus            Some GPU (8192 MiB)    nvidia            -  -
        labels          disk=fast, room=attic  worker.yaml       -  -

        """)
  }

  @Test("a free host says that nothing runs, and an owner's word has its own words")
  func free() {
    var status = busy
    status.launches = []
    status.owner = .init(.outsideHours(until: ManualNow.noon + .seconds(36_000)))
    #expect(status.isFree)
    #expect(status.text.contains("Owner        outside its hours until 2026-03-01T22:00:00Z (10h)\n"))
    #expect(status.text.contains("\n\nNothing runs here.\n\n"))
    status.owner = .init(.paused(by: "ann", until: nil))
    #expect(status.text.contains("paused by ann until 'baton-worker resume'\n"))
    status.owner = .init(.accepting)
    #expect(status.text.contains("Owner        accepting\n"))
  }

  @Test("its JSON is camelCase with dates of RFC 3339 and seconds, and can be read again")
  func json() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(busy)
    #expect(try JSONDecoder().decode(HostStatus.self, from: data) == busy)
    let text = String(decoding: data, as: UTF8.self)
    for part in [
      #""at":"2026-03-01T12:00:00.000Z""#, #""coordinator":{"address":"127.0.0.1:7420","isConnected":false}"#,
      #""owner":{"by":"ann","state":"paused","until":"2026-03-01T14:00:00.000Z"}"#, #""slots":8"#, #""usedSlots":3"#,
      #"{"ageSeconds":192,"name":"power","raw":"AC/online 0","source":"sysfs","value":"battery"}"#,
      #"{"name":"idle","raw":"","source":"assumed"}"#,
      #"{"batches":3,"completedUnits":120,"cpuSeconds":125,"expiring":{"deadline":"2026-03-01T12:00:27.400Z","reason":"pausedByOwner"},"#
        + #""identifier":"com.example.photos.export.42","kind":"processing","launch":2,"memoryBytes":1300000000,"#
        + #""request":7,"since":"2026-03-01T11:56:48.000Z","totalUnits":247}"#,
      #""today":{"cpuSeconds":7500.25,"dailyAllowanceSeconds":28800,"launchSeconds":12000,"launches":12}"#,
    ] { #expect(text.contains(part)) }
  }

  @Test("each owner's word has a state of its own")
  func words() {
    #expect(HostStatus.Owner(.accepting).state == "accepting")
    #expect(HostStatus.Owner(.paused(by: "ann", until: nil)).by == "ann")
    #expect(HostStatus.Owner(.outsideHours(until: ManualNow.noon)).state == "outsideHours")
  }

  @Test(
    "durations and sizes are said as people say them",
    arguments: [
      (Duration.zero, "0s"), (.milliseconds(340), "340ms"), (.seconds(12), "12s"), (.seconds(3600), "1h"),
      (.seconds(100_000), "1d 3h"), (.seconds(-5), "0s"),
    ])
  func durations(duration: Duration, text: String) {
    #expect(duration.inWords == text)
    #expect(Int64(640).inBytes == "640 B" && Int64(1536).inBytes == "1.5 KiB" && (Int64(5) << 40).inBytes == "5.0 TiB")
  }
}

@Suite("Waiting until a host is free", .timeLimit(.minutes(10)))
struct PauseWaitingTests {
  private func status(_ launches: [(request: Int, expiring: Bool)], after seconds: Int = 0) throws -> HostStatus {
    var status = try FakeHost().status
    status.at = StatusDate(ManualNow.noon + .seconds(seconds))
    status.owner = .init(.paused(by: "ann", until: nil))
    status.launches = launches.map { request, expiring in
      HostStatus.Launch(
        identifier: JobIdentifier("com.example.a")!, request: request, launch: 1, kind: .processing,
        since: ManualNow.noon,
        progress: Progress(),
        expiring: expiring ? .init(.pausedByOwner, deadline: ManualNow.noon + .seconds(20 + request)) : nil)
    }
    return status
  }

  @Test("a pipe gets a line for each change, a terminal one for each second")
  func lines() throws {
    let steps = [
      try status([(1, true), (9, true)]), try status([(1, true), (9, true)], after: 1),
      try status([(1, true)], after: 1),
      try status([], after: 2), try status([], after: 3),
    ]
    var (pipe, terminal) = (PauseWaiting(isTerminal: false), PauseWaiting(isTerminal: true))
    #expect(
      steps.map { pipe.line($0) } == [
        "stopping 2 launches, at most 29 s more", nil, "stopping 1 launch, at most 20 s more", "the host is free", nil,
      ])
    #expect(
      steps.map { terminal.line($0) } == [
        "stopping 2 launches, at most 29 s more", "stopping 2 launches, at most 28 s more",
        "stopping 1 launch, at most 20 s more", "the host is free", nil,
      ])
  }

  @Test("what is not yet asked to stop, and what is over its time, is said")
  func others() throws {
    var waiting = PauseWaiting(isTerminal: false)
    #expect(waiting.line(try status([(1, false)])) == "1 launch not yet asked to stop")
    #expect(
      waiting.line(try status([(1, false), (2, false), (3, true)]))
        == "stopping 1 launch, at most 23 s more; 2 launches not yet asked to stop")
    #expect(waiting.line(try status([(1, true)], after: 60)) == "stopping 1 launch, at any moment")
  }

  @Test("a pause that is over, and a worker that stays away, end the waiting; one that comes back does not")
  func ends() async throws {
    let (running, free) = (try status([(1, true)]), try status([]))
    let resumed = try { () throws in
      var status = try status([(1, true)])
      status.owner = .init(.accepting)
      return status
    }()

    func wait(_ answers: @escaping @Sendable (Int) -> HostStatus?) async -> OwnerClientError.Code? {
      let asked = Heard<Void>()
      let watch = PauseWatch { () async throws(OwnerClientError) in
        asked.add(())
        guard let status = answers(asked.values.count) else { throw OwnerClientError(.unreachable, "away") }
        return status
      } sleep: { _ in
      }
      do {
        try await watch.untilFree(from: running, isTerminal: false) { _ in }
        return nil
      } catch {
        return (error as? OwnerClientError)?.code
      }
    }
    #expect(await wait { _ in resumed } == .refused)
    #expect(await wait { $0 < 30 ? nil : free } == nil)
    #expect(await wait { _ in nil } == .unreachable)
  }
}
