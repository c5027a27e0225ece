import Foundation
import Testing

@testable import BatonModel

@Suite("Secrets by name") struct SecretTests {
  private func job(_ secrets: [String: Secret]?, environment: [String: String] = [:]) -> Definition {
    var definition = Definition(pattern: IdentifierPattern("com.example.db.dump")!, kind: .processing)
    definition.work = Work(command: ["dump"], environment: environment, secrets: secrets)
    return definition
  }

  private func problem(_ secrets: [String: Secret], environment: [String: String] = [:]) -> String? {
    do throws(DefinitionProblem) {
      try job(secrets, environment: environment).validate()
      return nil
    } catch {
      #expect(error.field == "work.secrets")
      return error.rule
    }
  }

  @Test(
    "a file is a relative path without a way up",
    arguments: [
      ("db/password", true), ("a", true), ("A-1_2.x/..b/c..", true), (String(repeating: "x", count: 200), true),
      (String(repeating: "x", count: 201), false), ("", false), ("/etc/shadow", false), ("a/", false), ("a//b", false),
      ("..", false), ("a/../b", false), ("./a", false), ("a/.", false), ("a b", false), ("a\n", false), ("ü", false),
      ("a\0", false), ("a*", false), ("${wildcard}", false),
    ])
  func files(file: String, isTaken: Bool) {
    #expect(Secret.isFile(file) == isTaken)
    #expect((problem(["A": Secret(file: file)]) == nil) == isTaken)
  }

  @Test(
    "a name is the name of a variable that Baton does not set",
    arguments: [
      ("A", true), ("_a1", true), (String(repeating: "x", count: 200), true),
      (String(repeating: "x", count: 201), false), ("", false), ("1A", false), ("A-B", false), ("BATON_X", false),
      ("TRACEPARENT", false),
    ])
  func names(name: String, isTaken: Bool) {
    #expect((problem([name: Secret(file: "a")]) == nil) == isTaken)
  }

  @Test("each variable is set once: by one secret, and not by the environment too")
  func clashes() {
    let (descriptor, variable) = (Secret(file: "a"), Secret(file: "a", form: .environment))
    for secret in [descriptor, variable] { #expect(problem(["A": secret], environment: ["A": "1"]) != nil) }
    #expect(problem(["A": descriptor], environment: ["A_FD": "1"]) != nil)
    #expect(problem(["A": variable], environment: ["A_FD": "1"]) == nil)
    #expect(problem(["A": descriptor, "A_FD": variable]) == "has two secrets for the variable A_FD")
    #expect(problem(["A": descriptor, "A_FD": descriptor]) == nil)
  }

  @Test("at most 32 secrets")
  func count() {
    func many(_ count: Int) -> [String: Secret] {
      Dictionary(uniqueKeysWithValues: (0..<count).map { ("S\($0)", Secret(file: "a")) })
    }
    #expect(problem(many(32)) == nil)
    #expect(problem(many(33)) == "has 33 secrets; at most 32 are allowed")
  }

  @Test("an old definition is read, and one without secrets is written as before")
  func coding() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let none = try encoder.encode(job(nil))
    #expect(!String(decoding: none, as: UTF8.self).contains("secrets"))
    #expect(try JSONDecoder().decode(Definition.self, from: none) == job(nil))
    let some = job(["A": Secret(file: "db/a"), "B": Secret(file: "b", form: .environment)])
    let text = String(decoding: try encoder.encode(some), as: UTF8.self)
    #expect(text.contains(#""secrets":{"A":{"file":"db/a"},"B":{"as":"environment","file":"b"}}"#))
    #expect(try JSONDecoder().decode(Definition.self, from: Data(text.utf8)) == some)
  }

  private func vetoes(_ files: [String], _ permissions: CommandPermissions?) -> [Veto] {
    let named = files.enumerated().map { ("S\($0.offset)", Secret(file: $0.element)) }
    return Capabilities(slots: 1, permissions: permissions).vetoes(of: job(Dictionary(uniqueKeysWithValues: named)))
  }

  private func permission(_ files: String, _ identifiers: String...) -> SecretPermission {
    SecretPermission(files: SecretPattern(files)!, identifiers: identifiers.compactMap { IdentifierPattern($0) })
  }

  @Test("a secret that the owner does not permit is an obstacle, and without a word of the owner none is permitted")
  func vetoes() {
    let db = CommandPermissions(secrets: [permission("db/*", "com.example.db.*")])
    #expect(vetoes(["db/password", "db/user"], db) == [])
    #expect(vetoes(["db/deep/password"], db) == [.secret("db/deep/password")])
    #expect(vetoes(["db/password", "api/token", "api/token"], db) == [.secret("api/token")])
    let others = CommandPermissions(secrets: [permission("**", "com.example.web.*", "com.example.db.dump.all")])
    #expect(vetoes(["db/password"], others) == [.secret("db/password")])
    #expect(vetoes(["db/password"], CommandPermissions(secrets: [permission("**", "com.example.db.dump")])) == [])
    #expect(vetoes(["db/password"], CommandPermissions()) == [.secret("db/password")])
    #expect(vetoes(["db/password"], nil) == [.secret("db/password")], "a worker that knows nothing of secrets")
    let obstacle = Obstacle.notPermittedOnHost(.secret("db/password"))
    #expect(obstacle.text == "the host's owner does not permit the secret db/password for this identifier")
    #expect(obstacle.remedy == "ask for a change of 'allow.secrets' in the host's worker.yaml")
  }

  @Test("a wildcard's definition may use a secret only if all its identifiers may")
  func wildcard() {
    let permission = permission("a", "com.example.db.*")
    for (pattern, isPermitted) in [
      ("com.example.db.*", true), ("com.example.db.x.*", true), ("com.example.db.x", true), ("com.example.*", false),
    ] {
      #expect(permission.permits("a", to: IdentifierPattern(pattern)!) == isPermitted, "\(pattern)")
    }
  }

  @Test(
    "a pattern of files has no way up and is not absolute", arguments: ["", "/a", "../a", "a//b", "a b", "a/", "ü"])
  func patterns(text: String) { #expect(SecretPattern(text) == nil) }

  @Test("what a worker of this version says can be read by the next one, and an older worker's word too")
  func capabilities() throws {
    let new = CommandPermissions(secrets: [permission("db/*", "com.example.*")])
    #expect(try JSONDecoder().decode(CommandPermissions.self, from: JSONEncoder().encode(new)) == new)
    let old = #"{"network":true,"runsCommands":true}"#
    #expect(try JSONDecoder().decode(CommandPermissions.self, from: Data(old.utf8)) == CommandPermissions())
  }
}
