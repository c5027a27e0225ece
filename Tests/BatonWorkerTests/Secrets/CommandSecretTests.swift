import BatonModel
import BatonTelemetry
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite("A command with secrets", .enabled("the kernel has no sandbox", ThisMachine.fences))
struct CommandSecretTests {
  private func fixture(_ level: SandboxLevel? = .basic, _ text: String = SecretFixture.password) throws -> SecretFixture
  {
    let fixture = try SecretFixture(level: level)
    try fixture.write(text + "\n", to: "db/password")
    return fixture
  }

  @Test("gets a descriptor, from whose beginning it reads in each batch", arguments: [nil, SandboxLevel.basic])
  func descriptors(level: SandboxLevel?) async throws {
    let fixture = try fixture(level)
    let script = #"cat <&$DB_PASSWORD_FD >> got; echo >> got; cat /dev/fd/$DB_PASSWORD_FD >> again; cat >> input"#
    var work = fixture.work(script, SecretFixture.descriptor, items: .range(1...3))
    work.pass = .stdin
    try await fixture.commands.run(work)
    #expect(try fixture.result("got") == String(repeating: SecretFixture.password + "\n", count: 3))
    #expect(try fixture.result("again") == String(repeating: SecretFixture.password, count: 3))
    #expect(try fixture.result("input") == "1\n2\n3\n", "the items come on standard input as before")
  }

  @Test("with a cursor has its pipes too, and with the most secrets each has its own value")
  func cursorAndMany() async throws {
    let fixture = try fixture()
    var secrets: [String: Secret] = [:]
    for number in 10..<10 + Definition.Limits.secrets {
      try fixture.write("value of \(number)", to: "many/\(number)")
      secrets["S\(number)"] = Secret(file: "many/\(number)")
    }
    let script = #"""
      for n in $(seq 10 41); do eval "f=\$S$${n}_FD"; cat /dev/fd/$f >> got; echo >> got; done
      ls /proc/self/fd | sort -n | tr '\n' ' ' > open
      echo '{"checkpoint": 1}' >&$BATON_PROGRESS_FD; read answer <&$BATON_COMMIT_FD; echo "$answer" > answer
      """#
    try await fixture.commands.run(fixture.work(script, secrets, items: nil))
    #expect(try fixture.result("got") == (10..<42).map { "value of \($0)\n" }.joined())
    #expect(try fixture.result("answer") == "{\"committed\": 1}\n")
    // 0 to 2, the two pipes, the secrets from 5 on, and the one with which ls reads the folder.
    #expect(try fixture.result("open") == (0..<38).map { "\($0) " }.joined())
  }

  @Test("gets nothing beyond its secrets, and cannot change them")
  func sealed() async throws {
    let fixture = try fixture()
    let script = #"""
      ls /proc/self/fd | sort -n | tr '\n' ' ' > open
      (echo x >&$DB_PASSWORD_FD) 2>/dev/null && echo written
      (echo x > /dev/fd/$DB_PASSWORD_FD) 2>/dev/null && echo truncated
      cat /dev/fd/$DB_PASSWORD_FD > got
      """#
    let runtime = try await fixture.commands.run(fixture.work(script, SecretFixture.descriptor))
    #expect(runtime.output == "")
    #expect(try fixture.result("got") == SecretFixture.password)
    #expect(try fixture.result("open") == "0 1 2 3 4 5 ", "3 is the pipe for results, 4 the folder that ls reads")
  }

  @Test("gets a variable instead if the definition says so")
  func variable() async throws {
    let fixture = try fixture()
    try await fixture.commands.run(
      fixture.work(#"printf %s "$DB_PASSWORD" > got; echo "$${DB_PASSWORD_FD-none}" >> got"#, SecretFixture.variable))
    #expect(try fixture.result("got") == SecretFixture.password + "none\n")
  }

  @Test("is not started if the host cannot give a secret, and the reason names the file and no content")
  func unavailable() async throws {
    let fixture = try fixture()
    func failure(_ secrets: [String: Secret]) async throws -> CommandError {
      let error = try await fixture.commands.failure(fixture.work("touch ran", secrets))
      #expect(error.code == .secretUnavailable && error.type == "secretUnavailable")
      #expect(!fixture.commands.names(in: fixture.commands.directory).contains("ran"))
      return error
    }
    let missing = try await failure(["TOKEN": Secret(file: "api/token")])
    #expect(missing.message == "box cannot give the secret TOKEN: there is no file \(fixture.folder)/api/token")
    try fixture.write(SecretFixture.password, to: "open", mode: 0o444)
    #expect(try await failure(["TOKEN": Secret(file: "open")]).message.contains("chmod 0400"))
    try fixture.write("a\0b \(SecretFixture.password)", to: "nul")
    let nul = try await failure(["TOKEN": Secret(file: "nul", form: .environment)])
    #expect(nul.message.contains("NUL") && !nul.message.contains(SecretFixture.password))
    try await fixture.commands.run(fixture.work("cat /dev/fd/5 > got", ["TOKEN": Secret(file: "nul")]))
    #expect(try fixture.result("got") == "a\0b \(SecretFixture.password)")
  }

  /// Where a value could be seen: by the arguments and the environment of a process, in the output, in the reason of a
  /// failure, in a subtitle, and in a core dump.
  @Test("leaks no value", .refuses(34), arguments: [SecretFixture.descriptor, SecretFixture.variable])
  func leaks(secrets: [String: Secret]) async throws {
    for level in await ThisMachine.levels() { try await expectNoLeak(of: secrets, in: level) }
  }

  private func expectNoLeak(of secrets: [String: Secret], in level: SandboxLevel) async throws {
    let fixture = try fixture(level)
    let isVariable = secrets["DB_PASSWORD"]?.form == .environment
    let value = isVariable ? #"value=$DB_PASSWORD"# : "value=$(cat /dev/fd/$DB_PASSWORD_FD)"
    let script = #"""
      cat /proc/[0-9]*/cmdline > arguments 2>/dev/null
      cat /proc/self/environ > environment
      ulimit -H -c > core
      \#(value)
      echo "$value"; printf 'correct horse '; sleep 0.2; echo 'battery staple'; echo "$value" >&2
      echo "{\"subtitle\": \"with $value\", \"completed\": 1}" >&3; read x <&4
      echo "last words: $value"
      exit 3
      """#
    let runtime = FakeRuntime()
    let error = try await fixture.commands.failure(fixture.work(script, secrets, items: nil), on: runtime)
    #expect(try !fixture.result("arguments").contains(SecretFixture.password))
    #expect(try fixture.result("environment").contains(SecretFixture.password) == isVariable)
    #expect(try fixture.result("core") == "0\n")
    #expect(runtime.output == "•••\n•••\n•••\nlast words: •••\n")
    #expect(error.type == "exit 3")
    #expect(error.message.hasSuffix("its last output was:\n•••\n•••\n•••\nlast words: •••"))
    #expect(runtime.commits.map(\.subtitle) == ["with •••"])
  }

  @Test("without a sandbox leaves no core dump either")
  func cores() async throws {
    let fixture = try fixture(nil)
    try await fixture.commands.run(fixture.work("ulimit -H -c > core", SecretFixture.variable))
    #expect(try fixture.result("core") == "0\n")
  }

  @Test("cannot read the folder of secrets itself")
  func folder() async throws {
    let fixture = try fixture()
    try await fixture.commands.run(
      fixture.work("cat \(fixture.folder)/db/password > got 2>/dev/null || true", SecretFixture.descriptor))
    #expect(try fixture.result("got") == "")
  }

  @Test("may not put a value into its checkpoint, which is stored as it is")
  func checkpoint() async throws {
    let fixture = try fixture()
    let script = #"echo "{\"checkpoint\": \"$DB_PASSWORD\"}" >&3; read x <&4; sleep 1000"#
    let runtime = FakeRuntime()
    let error = try await fixture.commands.failure(
      fixture.work(script, SecretFixture.variable, items: nil), on: runtime)
    #expect(error.code == .badProgress)
    #expect(error.message.contains("has the value of a secret in its checkpoint"))
    #expect(!error.message.contains(SecretFixture.password) && runtime.commits.isEmpty)
  }

  @Test(
    "has no value in the message about a line that cannot be read",
    arguments: [#"not JSON: VALUE"#, #"{"VALUE": 1}"#, #"{"subtitle": 1, "x": "VALUE"}"#])
  func badLine(line: String) async throws {
    let fixture = try fixture()
    let words = line.replacing("VALUE", with: "'\"$DB_PASSWORD\"'")
    let padding = String(repeating: "-", count: 170)
    for line in [words, words + padding, padding + words] {
      let error = try await fixture.commands.failure(
        fixture.work("echo '\(line)' >&3; read x <&4; sleep 1000", SecretFixture.variable, items: nil))
      #expect(error.code == .badProgress)
      #expect(!error.message.contains("correct horse"), "\(error.message)")
    }
  }

  @Test("has no value in the spans of its run", .refuses(34))
  func spans() async throws {
    let fixture = try fixture()
    let station = try TracingStation(secrets: fixture)
    var definition = station.command(
      #"echo "$DB_PASSWORD"; echo "$DB_PASSWORD" | cat >&2; exit 3"#, items: .range(1...1))
    definition.work?.secrets = SecretFixture.variable
    let ending = try await station.run(Bench.assignment(1), definition)
    #expect("\(ending)".contains("•••") && !"\(ending)".contains(SecretFixture.password))
    #expect(!station.sink.spans.isEmpty && !"\(station.sink.spans)".contains(SecretFixture.password))
    #expect("\(station.sink.spans)".contains("•••"))
  }
}
