package trace

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/klauspost/compress/zstd"
)

// situation is one that is recorded.
type situation struct {
	name, what string
	alone      bool // it changes what the others see
	play       func(context.Context, *scene) error
}

var situations = []situation{
	{"upload-token-expired", "an upload with a token that was asked for more than five minutes ago", false, uploadExpired},
	{"import", "an http source that is there", false, func(ctx context.Context, s *scene) error {
		if err := s.imports(ctx, "{http: {url: "+s.url+"/disk.img}}", "64Mi", s.Immediate, reaches("Succeeded")); err != nil {
			return err
		}
		return s.arrived(ctx)
	}},
	{"import-404", "an http source that is not there", false, func(ctx context.Context, s *scene) error {
		return s.imports(ctx, "{http: {url: "+s.url+"/missing.img}}", "64Mi", s.Immediate, restarted(2))
	}},
	{"import-wrong-password", "an http source that refuses the credentials", false, func(ctx context.Context, s *scene) error {
		if err := s.make(ctx, "secrets", `{apiVersion: v1, kind: Secret, metadata: {name: who}, data: {accessKeyId: %s, secretKey: %s}}`, b64("landfall"), b64("wrong")); err != nil {
			return err
		}
		return s.imports(ctx, "{http: {url: "+s.url+"/private.img, secretRef: who}}", "64Mi", s.Immediate, restarted(2))
	}},
	{"import-no-secret", "an http source whose secret is not there", false, func(ctx context.Context, s *scene) error {
		if err := s.dataVolume(ctx, "{http: {url: "+s.url+"/private.img, secretRef: nobody}}", "64Mi", s.Immediate); err != nil {
			return err
		}
		return s.quiet(ctx, 20*time.Second)
	}},
	{"import-too-small", "an image that is larger than the claim", false, func(ctx context.Context, s *scene) error {
		return s.imports(ctx, "{http: {url: "+s.url+"/disk.img}}", "16Mi", s.Immediate, restarted(2))
	}},
	{"import-scratch-unbound", "an import whose scratch claim has a class without volumes", true, importScratchUnbound},
	{"upload", "an upload of raw.zst", false, uploadGood},
	{"upload-too-small", "an upload of an image that is larger than the claim", false, uploadTooSmall},
	{"quota", "a namespace whose quota has no room for the claim", false, quota},
	{"wait-for-first-consumer", "a class that waits for a pod, and an import that a pod lets begin", false, waitForConsumer},
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func restarted(n int64) func(string, int64) bool {
	return func(_ string, restarts int64) bool { return restarts >= n }
}

func (s *scene) imports(ctx context.Context, source, size, class string, end func(string, int64) bool) error {
	if err := s.dataVolume(ctx, source, size, class); err != nil {
		return err
	}
	if err := s.until(ctx, 5*time.Minute, end); err != nil {
		return err
	}
	return s.settle(ctx)
}

// uploadable makes a DataVolume that waits for an upload, and gives the way to it.
func (s *scene) uploadable(ctx context.Context, size string) (c *http.Client, base, pass string, err error) {
	if err = s.dataVolume(ctx, "{upload: {}}", size, s.Immediate); err != nil {
		return
	}
	if err = s.until(ctx, 3*time.Minute, reaches("UploadReady")); err != nil {
		return
	}
	if c, base, err = proxy(ctx, s.k, s.CDI); err != nil {
		return
	}
	pass, err = token(ctx, s.k, s.namespace, name)
	return
}

func (s *scene) upload(ctx context.Context, c *http.Client, base, pass, what string, body []byte) error {
	s.Did("upload %s", what)
	answer, err := send(ctx, c, base, pass, body)
	if err != nil {
		return err
	}
	s.Got("%s", answer)
	return nil
}

func uploadGood(ctx context.Context, s *scene) error {
	c, base, pass, err := s.uploadable(ctx, "64Mi")
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	for _, u := range []struct{ what, pass string }{{"without a token", ""}, {"with a token that is none", "eyJhbGciOiJQUzI1NiJ9.e30.AAAA"}, {"raw.zst", pass}} {
		if err := s.upload(ctx, c, base, u.pass, u.what, z.EncodeAll(s.disk, nil)); err != nil {
			return err
		}
	}
	if err := s.until(ctx, 3*time.Minute, reaches("Succeeded")); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.arrived(ctx); err != nil {
		return err
	}
	return s.upload(ctx, c, base, pass, "once more", z.EncodeAll(s.disk, nil))
}

func uploadTooSmall(ctx context.Context, s *scene) error {
	c, base, pass, err := s.uploadable(ctx, "16Mi")
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	if err := s.upload(ctx, c, base, pass, "raw.zst", z.EncodeAll(s.disk, nil)); err != nil {
		return err
	}
	return s.quiet(ctx, 20*time.Second)
}

// tokenLife is how long CDI's upload tokens are good for, and a little.
const tokenLife = 5*time.Minute + 20*time.Second

func uploadExpired(ctx context.Context, s *scene) error {
	c, base, pass, err := s.uploadable(ctx, "64Mi")
	if err != nil {
		return err
	}
	s.Did("wait until the token has expired")
	if err := sleep(ctx, tokenLife); err != nil {
		return err
	}
	if err := s.upload(ctx, c, base, pass, "raw", s.disk); err != nil {
		return err
	}
	return s.settle(ctx)
}

func quota(ctx context.Context, s *scene) error {
	if err := s.make(ctx, "resourcequotas", `{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {requests.storage: 1Mi}}}`); err != nil {
		return err
	}
	if err := sleep(ctx, 2*time.Second); err != nil { // the quota is counted
		return err
	}
	if err := s.dataVolume(ctx, "{upload: {}}", "64Mi", s.Immediate); err != nil {
		return err
	}
	return s.quiet(ctx, 20*time.Second)
}

func waitForConsumer(ctx context.Context, s *scene) error {
	if err := s.dataVolume(ctx, "{http: {url: "+s.url+"/disk.img}}", "64Mi", s.Waiting); err != nil {
		return err
	}
	if err := s.quiet(ctx, 10*time.Second); err != nil {
		return err
	}
	s.Did("create a pod that wants the claim")
	if err := s.make(ctx, "pods", `{apiVersion: v1, kind: Pod, metadata: {name: consumer}, spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: c, image: %q, imagePullPolicy: Never, args: ["-c", "true"],
volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]}}`, s.Shell, name); err != nil {
		return err
	}
	if err := s.until(ctx, 3*time.Minute, reaches("Succeeded")); err != nil {
		return err
	}
	return s.settle(ctx)
}

func importScratchUnbound(ctx context.Context, s *scene) (err error) {
	if err := s.scratchClass(ctx, fmt.Sprintf("%q", s.Barren), s.Barren); err != nil {
		return err
	}
	defer func() {
		if e := s.scratchClass(context.WithoutCancel(ctx), "null", s.Immediate); err == nil {
			err = e
		}
	}()
	if err := s.dataVolume(ctx, "{http: {url: "+s.url+"/disk.img}}", "64Mi", s.Immediate); err != nil {
		return err
	}
	if err := s.until(ctx, 2*time.Minute, reaches("ImportScheduled")); err != nil {
		return err
	}
	return s.quiet(ctx, 30*time.Second)
}
