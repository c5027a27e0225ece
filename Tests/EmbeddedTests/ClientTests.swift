import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonWire
import Foundation
import Testing

@testable import BatonClient
@testable import BatonCoordinator

/// The client for Swift programs, with a coordinator that listens in this process.
@Suite("BatonClient", .timeLimit(.minutes(10)))
struct ClientTests {
  // MARK: Submitting

  private struct Order: Codable, Equatable { var pages: Int }

  @Test("What a submission says arrives: payload, earliest begin, priority, submitter and trace")
  func submission() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client(submitter: "ana")
      let date = Date(timeIntervalSince1970: 4_000_000_000)
      var submission = try JobSubmission("com.example.import.orders", payload: Order(pages: 12))
      submission.earliestBegin = .at(date)
      submission.priority = .background
      submission.traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
      let accepted = try await client.submit(submission)
      #expect(accepted.request == JobRequest.Name("com.example.import.orders", number: 1))
      #expect(accepted.state == .scheduled && accepted.eligibleAt == date)
      #expect(accepted.traceID == "0123456789abcdef0123456789abcdef" && !accepted.hasReplaced)
      let record = try await place.coordinator.details(JobIdentifier("com.example.import.orders")!, number: 1).record
      #expect(try JSONDecoder().decode(Order.self, from: Data(record.payload ?? [])) == Order(pages: 12))
      #expect(record.priority == .background && record.principal == "ana")
      let request = try await client.request("com.example.import.orders")
      #expect(request.name == accepted.request && request.submitter == "ana" && request.priority == .background)
      #expect(request.eligibleAt == date && request.waitsFor == "notBefore" && request.launches == 0)
      #expect(request.kind == .processing && request.endedAt == nil && request.traceID == accepted.traceID)
    }
  }

  @Test("A submission that is repeated with its id is accepted once; another id makes another request")
  func idempotency() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      var submission = JobSubmission("com.example.import.a")
      submission.id = "import of today"
      let first = try await client.submit(submission)
      _ = try await client.cancel(first.request)
      #expect(try await client.submit(submission) == first)
      submission.id = "import of tomorrow"
      #expect(try await client.submit(submission).request.number == 2)
      #expect(JobSubmission("a").id != JobSubmission("a").id && JobSubmission.drawnID().utf8.count == 32)
    }
  }

  @Test("Several submissions get their answers in order, and a refusal does not affect the others")
  func several() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let answers = try await place.client().submit(
        contentsOf: ["com.example.import.a", "com.example.imports", "com.example.import.b"].map { JobSubmission($0) })
      #expect(answers.count == 3)
      #expect(try answers[0].get().request.identifier == "com.example.import.a")
      let refusal = #expect(throws: JobClientError.self) { try answers[1].get() }
      #expect(refusal?.code == .notPermitted && refusal?.message.contains("apply a definition") == true)
      #expect(try answers[2].get().request.identifier == "com.example.import.b")
    }
  }

  @Test("A poke joins the request that waits already")
  func poke() async throws {
    try await ServedFleet.serving { place in
      var definition = ServedFleet.definition("com.example.news")
      definition.kind = .refresh
      _ = try await place.coordinator.apply([definition])
      let client = place.client()
      var submission = JobSubmission("com.example.news")
      submission.poke = .immediate
      let first = try await client.submit(submission)
      submission.id = JobSubmission.drawnID()
      submission.poke = .considerate
      #expect(try await client.submit(submission).request == first.request)
    }
  }

  @Test("What a coordinator would refuse as malformed is refused with a text that says what is wrong")
  func malformed() async throws {
    let client = JobClient(
      CoordinatorLocation([HostPort(host: "127.0.0.1", port: 1)], .own(tokenFile: nil, RuntimeFolders(paths: []))),
      submitter: nil, patience: .zero, clocks: .system)
    func refusal(_ change: (inout JobSubmission) -> Void) async throws -> String {
      var submission = JobSubmission("com.example.a")
      change(&submission)
      do {
        try await client.submit(submission)
        return "submitted"
      } catch let error as JobClientError {
        #expect(error.code == .invalid)
        return error.message
      }
    }
    #expect(try await refusal { $0.identifier = "com..example" }.contains("'com..example' is not an identifier"))
    #expect(try await refusal { $0.id = "" }.contains("1 to 64 bytes"))
    let large = [UInt8](repeating: 0, count: (64 << 10) + 1)
    #expect(try await refusal { $0.payload = large }.contains("65537 bytes"))
    let many = await #expect(throws: JobClientError.self) {
      try await client.submit(contentsOf: Array(repeating: JobSubmission("com.example.a"), count: 1001))
    }
    #expect(many?.code == .invalid)
  }

  // MARK: Reading

  @Test("Lists have pages, patterns and states; the newest request is the first")
  func lists() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      try await place.job("com.example.other.*")
      let client = place.client()
      for name in ["import.a", "import.b", "other.c", "import.d"] { try await client.submit("com.example.\(name)") }
      try await client.cancel("com.example.import.b")
      func names(_ requests: [JobRequest]) -> [String] { requests.map { String($0.name.identifier.dropFirst(12)) } }
      #expect(names(try await client.requests()) == ["import.d", "other.c", "import.b", "import.a"])
      let page = try await client.requests(limit: 3)
      #expect(names(page) == ["import.d", "other.c", "import.b"])
      #expect(names(try await client.requests(after: page.last, limit: 3)) == ["import.a"])
      #expect(names(try await client.pending(matching: "com.example.import.*")) == ["import.d", "import.a"])
      #expect(try await client.running().isEmpty)
      #expect(names(try await client.requests(in: [.cancelled])) == ["import.b"])
      let wrong = await #expect(throws: JobClientError.self) { try await client.pending(matching: "com.*.a") }
      #expect(wrong?.code == .invalid)
      let missing = await #expect(throws: JobClientError.self) { try await client.request("com.example.import.z") }
      #expect(missing?.code == .notFound)
    }
  }

  @Test("An explanation has the obstacles with what removes them, and a text for people")
  func explains() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      try await client.submit("com.example.import.a")
      try await place.coordinator.setPaused(true)
      let explanation = try await client.explain("com.example.import.a")
      #expect(explanation.request.name.number == 1 && explanation.verdict == .waiting)
      let codes = explanation.obstacles.map(\.code)
      #expect(codes.contains("fleetPaused") && codes.contains("noHosts"), "\(codes)")
      for obstacle in explanation.obstacles {
        #expect(obstacle.host == nil && !obstacle.remedy.isEmpty)
        #expect(!obstacle.remedy.contains("IDENTIFIER"))
      }
      #expect(explanation.text.hasPrefix("com.example.import.a, request 1: waits (ready)\n"), "\(explanation.text)")
      for obstacle in explanation.obstacles {
        #expect(explanation.text.contains("  \(obstacle.code): \(obstacle.text)"))
      }
    }
  }

  // MARK: Waiting

  @Test("A watch has the request now, after its changes, and at its end; then it is over")
  func watches() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      let name = try await client.submit("com.example.import.a").request
      var states: [JobRequest.State] = []
      for try await request in client.watch(name) {
        #expect(request.name == name)
        if states.isEmpty { try await client.cancel(name) }
        states.append(request.state)
      }
      #expect(states.first == .ready && states.last == .cancelled)
      let end = try await client.wait(for: name)
      #expect(end.state == .cancelled && end.state.isEnded && end.endedAt != nil && end.reason == client.submitter)
    }
  }

  @Test("A wait ends with its time, with its task, and for a request that there is not")
  func waits() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      let name = try await client.submit("com.example.import.a").request
      let late = await #expect(throws: JobClientError.self) {
        try await client.wait(for: name, timeout: .milliseconds(1))
      }
      #expect(late?.code == .timedOut && late?.message.contains("it goes on") == true)
      let task = Task { try await client.wait(for: name) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let missing = await #expect(throws: JobClientError.self) { try await client.wait(for: "com.example.import.z") }
      #expect(missing?.code == .notFound)
      // The request was not touched.
      #expect(try await client.request(name).state == .ready)
    }
  }

  // MARK: The connection

  @Test("Calls share one connection; after a loss the next call makes another one, and a wait goes on")
  func reconnects() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      let name = try await client.submit("com.example.import.a").request
      let first = try #require(client.calls.present)
      _ = try await (client.request(name), client.pending(), client.explain(name))
      #expect(client.calls.present === first)
      var hasLost = false
      for try await request in client.watch(name) where !request.state.isEnded {
        // The state comes again over the second connection.
        if hasLost { try await client.cancel(name) }
        if !hasLost { first.close(because: Lost()) }
        hasLost = true
      }
      #expect(client.calls.present !== first && client.calls.present != nil)
      #expect(try await client.request(name).state == .cancelled)
    }
  }

  private struct Lost: Error {}

  @Test("Of several addresses the first that answers is asked; if none does, each is named")
  func addresses() async throws {
    try await ServedFleet.serving { place in
      let folders = RuntimeFolders(paths: [place.folder])
      let dead = HostPort(host: "127.0.0.1", port: 1)
      func client(_ addresses: [HostPort]) -> JobClient {
        JobClient(
          CoordinatorLocation(addresses, .own(tokenFile: "\(place.folder)/token.copy", folders)), submitter: nil,
          patience: .seconds(60), clocks: .system)
      }
      let copy = "\(place.folder)/token.copy"
      try place.token.write(toFile: copy, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
      #expect(try await client([dead, place.workers]).requests().isEmpty)
      // A client that never reached a coordinator does not try again.
      let alone = await #expect(throws: JobClientError.self) { try await client([dead]).requests() }
      #expect(alone?.code == .unreachable && alone?.message.contains("baton coordinator") == true)
      let both = await #expect(throws: JobClientError.self) {
        try await client([dead, HostPort(host: "127.0.0.1", port: 2)]).requests()
      }
      #expect(both?.message.hasPrefix("none of the 2 coordinators answers: ") == true)
      #expect(both?.message.contains("127.0.0.1:1") == true && both?.message.contains("127.0.0.1:2") == true)
    }
  }

  @Test("Calls of a closed client, also those that wait, end with an error that says so")
  func closes() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      let client = place.client()
      let name = try await client.submit("com.example.import.a").request
      var changes = client.watch(name).makeAsyncIterator()
      #expect(try await changes.next()?.state == .ready)
      client.close()
      let ended = await #expect(throws: JobClientError.self) { while try await changes.next() != nil {} }
      #expect(ended?.code == .closed)
      let later = await #expect(throws: JobClientError.self) { try await client.request(name) }
      #expect(later?.code == .closed)
    }
  }

  @Test("A coordinator that answers nothing is given up after its time, and so is a cancelled call")
  func silence() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try TokenFile.publish(String(repeating: "0", count: 64), port: 1, in: folder)
    // The system takes connections for it, and no program reads them.
    let listener = Self.silentSocket(at: folder + "/1.sock")
    defer { close(listener) }
    func client(answer: Duration) -> JobClient {
      let location = CoordinatorLocation(
        [HostPort(host: "127.0.0.1", port: 1)], .own(tokenFile: nil, RuntimeFolders(paths: [folder])))
      return JobClient(location, submitter: nil, patience: .seconds(60), answer: answer, clocks: .system)
    }
    let late = await #expect(throws: JobClientError.self) {
      try await client(answer: .milliseconds(20)).request("com.example.a")
    }
    #expect(late?.code == .unreachable && late?.message.contains("does not answer") == true, "\(late as Any)")
    let patient = client(answer: .seconds(3_600))
    let task = Task { try await patient.request("com.example.a") }
    // The call is under way.
    while patient.calls.present == nil { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private static func silentSocket(at path: String) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    listen(descriptor, 8)
    return descriptor
  }

  // MARK: Getting in

  @Test("A credential and the fleet's root in code let a client in from any machine, to what its scope permits")
  func credential() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.import.*")
      func client(_ token: CredentialToken) async throws -> JobClient {
        try JobClient(
          .fleet(address: "\(place.operators)", token: "\(token)", roots: try place.authority.root.pem),
          submitter: "mallory", patience: .zero)
      }
      let ana = try await client(try await place.credential("ana", [.submit]))
      let name = try await ana.submit("com.example.import.a").request
      #expect(try await ana.request(name).submitter == "ana")
      let bob = try await client(try await place.credential("bob", [.read]))
      #expect(try await bob.request(name).state == .ready)
      let refused = await #expect(throws: JobClientError.self) { try await bob.cancel(name) }
      #expect(refused?.code == .notPermitted && refused?.message.contains("submit") == true, "\(refused as Any)")
      let unknown = await #expect(throws: JobClientError.self) { try await client(CredentialToken()).requests() }
      #expect(unknown?.code == .notPermitted)
    }
  }

  @Test("A coordinator of another fleet gets no token")
  func otherFleet() async throws {
    try await ServedFleet.serving { one in
      try await ServedFleet.serving { other in
        let token = try await one.credential("ana", [.read])
        let client = try JobClient(
          .fleet(address: "\(other.operators)", token: "\(token)", roots: try one.authority.root.pem), patience: .zero)
        let refused = await #expect(throws: JobClientError.self) { try await client.requests() }
        #expect(refused?.code == .notPermitted && refused?.message.contains("nothing was sent to it") == true)
        // The port for workers is not the one for operators.
        let wrong = try JobClient(
          .fleet(address: "\(one.workers)", token: "\(token)", roots: try one.authority.root.pem), patience: .zero)
        let elsewhere = await #expect(throws: JobClientError.self) { try await wrong.requests() }
        #expect(elsewhere?.code == .notPermitted && elsewhere?.message.contains("--operators") == true)
      }
    }
  }

  @Test("The coordinator is found as the command line finds it")
  func locations() async throws {
    try await ServedFleet.serving { place in
      let configuration = place.folder + "/configuration"
      let login = try FleetLogin(
        address: "base:7422", root: place.authority.root, token: try await place.credential("ana", [.read]))
      var environment = ["XDG_CONFIG_HOME": configuration]
      func found() throws -> CoordinatorLocation { try CoordinatorLocation.automatic(environment: environment) }
      let own = try CoordinatorLocation.ofThisUser(environment: environment)
      #expect(own.addresses == [HostPort(host: "127.0.0.1", port: 7420)])
      #expect(try found() == own)
      for name in ["default", "lab"] { try login.write(name, in: configuration + "/baton") }
      #expect(try found().access == .login(login) && found().addresses == [HostPort(host: "base", port: 7422)])
      environment["BATON_COORDINATOR"] = "127.0.0.1:8000,127.0.0.1:8001"
      environment["BATON_TOKEN_FILE"] = "/run/token"
      #expect(
        try found()
          == CoordinatorLocation.ofThisUser(
            address: "127.0.0.1:8000,127.0.0.1:8001", tokenFile: "/run/token", environment: environment))
      environment["BATON_FLEET"] = "lab"
      #expect(try found().access == .login(login))
      environment["BATON_FLEET"] = "lap"
      let missing = #expect(throws: JobClientError.self) { try found() }
      #expect(missing?.code == .notPermitted && missing?.message.contains("default, lab") == true)
      let remote = #expect(throws: JobClientError.self) { try CoordinatorLocation.ofThisUser(address: "base:7420") }
      #expect(remote?.code == .invalid && remote?.message.contains("baton login") == true)
      let malformed = #expect(throws: JobClientError.self) {
        try CoordinatorLocation.fleet(address: "base:7422", token: "\(CredentialToken())", roots: "no PEM")
      }
      #expect(malformed?.code == .invalid && malformed?.message.contains("baton fleet roots") == true)
    }
  }

  @Test("A task that waits for a promise stops when it is cancelled, and others go on")
  func promises() async throws {
    let promise = Promise<Int>()
    let (one, other) = (Task { try await promise.value() }, Task { try await promise.value() })
    one.cancel()
    await #expect(throws: CancellationError.self) { try await one.value }
    #expect(promise.fulfil(.success(3)) && !promise.fulfil(.success(4)))
    #expect(try await other.value == 3)
    #expect(try await promise.value() == 3)
  }

  @Test("After a loss the first attempt is made at once; the waits between the others grow to a second")
  func pauses() {
    var pauses = Pauses()
    let waits = (0..<7).map { _ in pauses.next() }
    #expect(waits == [0, 100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
  }
}

extension ServedFleet {
  /// A client of the coordinator's own user.
  fileprivate func client(submitter: String? = nil) -> JobClient {
    JobClient(
      CoordinatorLocation([workers], .own(tokenFile: nil, RuntimeFolders(paths: [folder]))), submitter: submitter,
      patience: .seconds(60), clocks: .system)
  }
}
