import BatonModel
import Testing

@testable import BatonSpec

@Suite("work.secrets") struct SecretKeyTests {
  private func specification(_ work: String) -> Specification {
    let head = "identifier: com.example.db.dump\nkind: processing\nwork:\n  command: [/bin/dump]\n"
    return Specification(
      parsing: Source(name: "job.yaml", folder: "/srv/jobs", text: head + work),
      options: SpecificationOptions(now: Corpus.now, exists: nil))
  }

  @Test("secrets are read by name, with a file, and with the way in which the command gets them")
  func reads() {
    let work = specification(
      "  secrets:\n    A: {file: db/password}\n    B: {file: api/token, as: environment}\n    C: {file: c, as: descriptor}\n"
    ).definitions.first?.definition.work
    #expect(
      work?.secrets == [
        "A": Secret(file: "db/password"), "B": Secret(file: "api/token", form: .environment),
        "C": Secret(file: "c", form: .descriptor),
      ])
    #expect(specification("").definitions.first?.definition.work?.secrets == nil)
    #expect(specification("  secrets: {}\n").definitions.first?.definition.work?.secrets == nil)
  }

  @Test(
    "two that set one variable are told with their place",
    arguments: [
      (
        "  environment: {A: x}\n  secrets: {A: {file: a}}\n",
        "job.yaml:6:13: error: 'A' is the name of a secret and a name in 'work.environment'; rename one of them"
      ),
      (
        "  environment: {A_FD: x}\n  secrets: {A: {file: a}}\n",
        "job.yaml:6:13: error: 'A' is the name of a secret and a name in 'work.environment'; rename one of them"
      ),
      (
        "  secrets: {A: {file: a}, A_FD: {file: a, as: environment}}\n",
        "job.yaml:5:27: error: the secrets 'A' and 'A_FD' both set the variable 'A_FD'; rename one of them"
      ),
    ])
  func clashes(work: String, expected: String) {
    #expect(specification(work).errors.map { "\($0)".split(separator: "\n").first.map(String.init) } == [expected])
  }

  @Test("a value under the name of a secret is a warning that says what to do")
  func literals() {
    let warnings = specification("  environment: {DB_PASSWORD: hunter2, QUALITY: \"85\"}\n").warnings
    #expect(warnings.count == 1)
    let text = warnings.first.map { "\($0)" } ?? ""
    #expect(text.hasPrefix("job.yaml:5:17: warning: 'DB_PASSWORD' looks like a secret, and its value is stored"))
    #expect(text.contains("secrets: {DB_PASSWORD: {file: PATH, as: environment}}"))
    #expect(text.split(separator: "\n").first?.contains("hunter2") == false)
    #expect(specification("  environment: {DB_PASSWORD: \"\"}\n").warnings.isEmpty, "an empty value is no secret")
  }

  @Test(
    "what looks like the name of a secret",
    arguments: [
      "PASSWORD", "DB_PASSWORD", "password", "apiToken", "API_TOKEN", "APIToken", "AWS_SECRET_ACCESS_KEY", "SSH_KEY",
      "key", "Client_Secret", "PASSPHRASE", "TOKENS", "TOKEN2", "accessKey",
    ])
  func looks(name: String) { #expect(SecretName.isOne(name)) }

  @Test(
    "what does not",
    arguments: [
      "KEYBOARD", "MONKEY", "monkey", "TURKEY", "TOKENIZER", "SECRETARY", "PASSWORDLESS", "QUALITY", "", "_",
      "KEYS_ON_FILE",
      "SSH_KEY_FILE", "TOKEN_PATH", "AWS_ACCESS_KEY_ID", "keyName",
    ])
  func looksNot(name: String) { #expect(!SecretName.isOne(name)) }
}
